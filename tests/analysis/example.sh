#!/usr/bin/env bash
# analysis/xarray_example.py on a sweep's file that isn't finished, every warning an error.  SYNTHETIC names the program
# synthetic_results.  Exit code 77: xarray or matplotlib is missing.
set -u
: "${SYNTHETIC:?the program synthetic_results}"
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-example-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
for python in /usr/bin/python3 python3; do
    "$python" -c 'import xarray, h5netcdf, matplotlib' 2> /dev/null && break
    python=
done
[ -n "$python" ] || { echo "skipped: there is no Python with xarray, h5netcdf and matplotlib"; exit 77; }
"$SYNTHETIC" "$here/small.yaml" small.h5 3 || exit 1
MPLCONFIGDIR=$folder "$python" -W error "$here/../../analysis/xarray_example.py" small.h5 curves.svg > said 2>&1 || { cat said; exit 1; }
for words in "37 finished trials of 40" "^rope  *[0-9.]*  *[0-9.]*  *7$" "test accuracy of trial 0" "mean over trials"; do
    grep -q "$words" said || { cat said; echo "FAILED: nothing was said of '$words'"; exit 1; }
done
grep -q '</svg>' curves.svg || { echo "FAILED: no figure"; exit 1; }
