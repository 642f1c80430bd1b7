#!/bin/sh
# The shared library shows the C API and nothing else, and is called libtoric.so.0.
set -eu
library=$1
header=$2
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(grep -o 'TORIC_EXPORT [^;]*' "$header" | grep -o 'toric[A-Za-z]*(' | tr -d '(' | sort)
if [ "$shown" != "$declared" ]; then
  echo "the library shows:" "$shown"
  echo "the header declares:" "$declared"
  exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libtoric\.so\.0\]' || { echo "the SONAME is not libtoric.so.0"; exit 1; }
