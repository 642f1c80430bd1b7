#!/usr/bin/env bash
# Starts the README's first program as so many processes, the way the README does, and reads what each rank prints.
#   run_first_program.sh PROGRAM RANKS
set -euo pipefail
program=$1 ranks=$2
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# A port that nobody listens on.
port=$((20000 + RANDOM % 10000))
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done

pids=()
for ((rank = 0; rank < ranks; ++rank)); do
  RANK=$rank WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 TORIC_PORT=$port "$program" >"$scratch/$rank" 2>&1 &
  pids+=($!)
done
faults=0
for ((rank = 0; rank < ranks; ++rank)); do
  wait "${pids[rank]}" || { echo "rank $rank ended with status $?" && faults=$((faults + 1)); }
done

# Ranks put in 1, 2, 3 ... each.
sum=$((ranks * (ranks + 1) / 2))
for ((rank = 0; rank < ranks; ++rank)); do
  expected="rank $rank of $ranks: the sum is $sum"
  got=$(<"$scratch/$rank")
  [[ $got == "$expected" ]] || { echo "expected '$expected', got '$got'" && faults=$((faults + 1)); }
done
echo "$ranks ranks, $faults faults"
((faults == 0))
