#!/usr/bin/env bash
# check_sources.sh finds each kind of fault in a small tree that has it, and none in one that has none.
set -euo pipefail
check=$(dirname -- "${BASH_SOURCE[0]}")/check_sources.sh
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT

fresh() {
  rm -rf -- "${tree:?}"/*
  mkdir -p "$tree"/{include/toric,topology,collectives/comm,transports}
  echo 'const char* value = std::getenv("TORIC_LOG");' >"$tree/collectives/comm/config.cpp"
  echo '#include "toric/toric.h"' >"$tree/collectives/comm/c_api.cpp"
  echo 'int settings_from_environment();  // logs to stderr; snprintf(text, 1, "") is fine' >"$tree/topology/fine.hpp"
}

comments() { awk -v lines="$1" 'BEGIN { for (i = 0; i < lines; ++i) print "//" }'; }

faults=0
# expect STATUS TEXT: what the check ends with, and says.
expect() {
  local status=0 output
  output=$(bash "$check" "$tree") || status=$?
  if ((status != $1)) || [[ $output != *"$2"* ]]; then
    echo "expected status $1 and '$2', got status $status and: $output"
    faults=$((faults + 1))
  fi
}
# refuse FILE LINE TEXT: a tree with that line in that file is refused for that reason.
refuse() {
  fresh
  printf '%s\n' "$2" >>"$tree/$1"
  expect 1 "$3"
}

fresh
expect 0 '3 files, 0 faults'
refuse transports/x.cpp 'auto v = getenv("X");' 'reads the environment'
refuse transports/x.cpp 'auto v = ::secure_getenv("X");' 'reads the environment'
refuse topology/x.cpp 'extern char** environ;' 'reads the environment'
refuse collectives/comm/group.cpp '#include "toric/toric.h"' 'knows the C API'
refuse topology/x.cpp '#include "../collectives/comm/config.hpp"' 'relative path'
refuse topology/x.cpp '#include "fine.cpp"' 'not included'
refuse topology/x.cpp 'std::printf("hello");' 'standard output'
refuse topology/x.cpp 'std::cout << 1;' 'standard output'
refuse topology/x.cpp 'fputs("x", stdout);' 'standard output'
refuse topology/x.cpp '  goto done;' 'no goto'
refuse topology/x.cpp "$(comments 501)" '501 lines'
fresh
comments 500 >"$tree/topology/x.cpp"
expect 0 '4 files'
rm -rf -- "${tree:?}"/*
mkdir -p "$tree"/{include,topology,collectives,transports}
expect 1 'no sources'

echo "$faults faults"
((faults == 0))
