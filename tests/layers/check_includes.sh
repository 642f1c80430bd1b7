#!/usr/bin/env bash
# Whether a layer sees the headers it may see, and no others.
#   check_includes.sh LAYER COMPILER LAYERS FOLDERS LAYER...    LAYERS: a folder with an include root for each layer;
#   FOLDERS: a file for each layer with the include folders of its target; at the end, all layers
set -euo pipefail

layer=$1 compiler=$2 roots=$3 folders=$4
shift 4

# The table: who may include whom. Everyone may include base (include/toric) and itself.
allowed_for() {
  case $1 in
    topology | ir | ring) ;;
    check) echo ir ;;
    algorithms | simulate) echo topology ir ;;
    draw) echo topology ir simulate ;;
    local | shm | ucx | cuda_ipc) echo ring ;; # rings in memory are a helper of transports; transports never see one another
    transports) echo ring local shm ucx cuda_ipc ;;
    execute) echo ir ;;
    comm) echo topology ir check algorithms simulate ring local shm ucx cuda_ipc transports execute ;;
    *) return 1 ;;
  esac
}

if ! allowed_for "$layer" >/dev/null; then
  echo "layer $layer is not in the table of $0: say there what it may include"
  exit 1
fi
read -r -a allowed <<<"$(allowed_for "$layer") $layer"

mapfile -t includes < <(sed -e '/^$/d' -e 's/^/-I/' "$folders/$layer")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# Whether the compiler finds the header. What the header includes in turn may be out of sight: some are a layer's own affair.
sees() {
  printf '#include "%s"\n' "$1" >"$scratch/probe.cpp"
  "$compiler" -std=c++20 -E "${includes[@]}" "$scratch/probe.cpp" -o "$scratch/out" 2>"$scratch/errors" ||
    ! grep -q "probe.cpp:.*$1: No such file" "$scratch/errors"
}

faults=0 seen=0 refused=0
check() {
  local header=$1 other=$2
  if [[ " ${allowed[*]} " == *" $other "* ]]; then
    if sees "$header"; then seen=$((seen + 1)); fi # seeing less than the table allows is no fault: a layer links what it uses
  elif sees "$header"; then
    echo "FAULT: $layer sees $header, which the table forbids: unlink toric_$other"
    faults=$((faults + 1))
  else
    refused=$((refused + 1))
  fi
}

! sees toric/nobody/nothing.hpp || { echo "FAULT: the compiler finds headers that are not there" && exit 1; }
sees toric/base.hpp || { echo "FAULT: $layer does not see toric/base.hpp" && exit 1; }
for other in "$@"; do
  # A header or two of each layer stand for all: they come from one include root.
  count=0
  for path in "$roots/$other/toric/$other"/*.hpp; do
    [[ -e $path && $path != *-inl.hpp ]] || continue
    check "toric/$other/$(basename -- "$path")" "$other"
    count=$((count + 1))
    ((count < 2)) || break
  done
done
echo "$layer: $seen headers seen, $refused refused, $faults faults"
((faults == 0 && seen > 0)) # a layer that does not even see its own headers proves nothing
