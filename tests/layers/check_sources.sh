#!/usr/bin/env bash
# Rules of the library's sources that the compiler cannot check.
#   check_sources.sh ROOT
set -euo pipefail
cd -- "$1"

longest=500
faults=0
fault() {
  echo "FAULT: $1"
  faults=$((faults + 1))
}

mapfile -d '' files < <(find include topology collectives transports -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' \) -print0)
((${#files[@]} > 0)) || { echo "FAULT: no sources below $1" && exit 1; }

# only_in FILE PATTERN RULE: no file but FILE (or none at all, if FILE is -) has a line that matches PATTERN.
only_in() {
  local hit
  while IFS= read -r hit; do
    [[ $hit == "$1":* ]] || fault "${hit:0:160} -- $3"
  done < <(grep -HnE -- "$2" "${files[@]}")
}

only_in collectives/comm/config.cpp '(^|[^a-z_])((secure_)?getenv|setenv|putenv|unsetenv) *\(|(^|[^a-z_])environ *[;\[]' \
  'only collectives/comm/config.cpp reads the environment: take the setting from Config'
only_in collectives/comm/c_api.cpp '^ *# *include *[<"]toric/toric\.h[>"]' \
  'only collectives/comm/c_api.cpp knows the C API: use the types of toric/base.hpp'
only_in - '^ *# *include *"(\.\./|.*/\.\./)' 'an include by a relative path goes round the layers: include toric/<layer>/<file>'
only_in - '^ *# *include *[<"][^">]*\.cpp[">]' 'a .cpp file is compiled, not included'
only_in - '(^|[^a-z_])(printf|puts|putchar) *\(|std::cout|[( ]stdout[,)]' 'the library never writes to standard output: use the log'
only_in - '(^|[^a-z_"])goto [a-z_]+;' 'no goto'
while read -r lines file; do
  [[ $file == total ]] || ((lines <= longest)) || fault "$file has $lines lines: split it (files stay under $longest)"
done < <(wc -l -- "${files[@]}")

echo "${#files[@]} files, $faults faults"
((faults == 0))
