# Shared by the scripts here: where the tree is, steps with their seconds, how many jobs. To be sourced, with `set -euo pipefail`.
# shellcheck shell=bash

root=$(unset CDPATH && cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
logs=$root/build/logs

die() {
  printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
  exit 1
}

# Compilers take about a gigabyte each here: fewer jobs than cores where memory is short.
jobs_for_build() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemTotal:/ { print int($2 / 1048576 + 0.5) }' /proc/meminfo 2>/dev/null || echo "$cores")
  ((memory_gib >= 1)) || memory_gib=1
  echo $((cores < memory_gib ? cores : memory_gib))
}
jobs=$(jobs_for_build)

microseconds() { echo "${EPOCHREALTIME//[.,]/}"; }

seconds_since() { awk -v us=$(($(microseconds) - $1)) 'BEGIN { printf "%.1f", us / 1e6 }'; }

# step NAME COMMAND...: runs it with its output shown, and says how long it took.
step() {
  local name=$1 begin status=0
  shift
  printf '== %s\n' "$name"
  begin=$(microseconds)
  "$@" || status=$?
  if ((status == 0)); then
    printf -- '-- %s: %s s\n' "$name" "$(seconds_since "$begin")"
  else
    printf -- '-- %s: FAILED after %s s\n' "$name" "$(seconds_since "$begin")"
  fi
  return "$status"
}

# quietly COMMAND...: the output goes to a log of the given name; its end is shown when the command fails.
quietly() {
  local log=$logs/$1.log status=0
  shift
  mkdir -p -- "$logs"
  "$@" >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    tail -n 60 -- "$log"
    printf 'all of it is in %s\n' "$log"
  fi
  return "$status"
}

# A build folder made by another user (say, under sudo) is the usual reason for a puzzling failure.
need_writable_build() {
  [[ ! -e $root/build || -w $root/build ]] || die "$root/build belongs to another user: remove it, or run: sudo chown -R $(id -un) '$root/build'"
  mkdir -p -- "$root/build" || die "$root is not writable: copy the tree to a folder of your own"
}

configure() {
  local preset=$1
  shift
  (cd -- "$root" && quietly "configure-$preset" cmake --preset "$preset" "$@")
}

# build PRESET [TARGET...]
build() {
  local preset=$1 targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  (cd -- "$root" && quietly "build-$preset" cmake --build --preset "$preset" -j "$jobs" "${targets[@]}")
}
