#!/usr/bin/env bash
# check_modules.sh - the borders between modules: each includes only earlier ones; MPI, HDF5, BLAS and YAML each have
# one door; no file is longer than 600 lines.
set -uo pipefail
cd "$(dirname "$0")/.."

modules=$(sed -n 's/^set(PES_MODULES \(.*\))$/\1/p' CMakeLists.txt)
bad=0
complain() {
    echo "$1"
    bad=1
}

# Headers by module: those not named after one belong to base, math, spectrum or model.
module_of() {
    case $1 in
    arena | rng | text | config | variable | log) echo base ;;
    kernels | linalg) echo math ;;
    optimizer) echo model ;;
    measure) echo spectrum ;;
    weights) echo pretrained ;;
    heads) echo store ;;
    study | judge | report) echo analysis ;;
    heads) echo store ;;
    *) echo "$1" ;;
    esac
}
number_of() {
    local n=0 m
    for m in $modules; do
        n=$((n + 1))
        [ "$m" = "$1" ] && echo $n && return
    done
    echo 0
}
for directory in src/*/ analysis/; do
    module=$(basename "$directory")
    own=$(number_of "$module")
    [ "$own" -gt 0 ] || complain "src/$module is not in the list of modules"
    for file in "$directory"*.[ch]; do
        [ -e "$file" ] || continue
        for header in $(sed -n 's/^#include "pesweep\/\([a-z_]*\)\.h".*/\1/p' "$file"); do
            other=$(number_of "$(module_of "$header")")
            [ "$other" -gt 0 ] || complain "$file includes pesweep/$header.h, which belongs to no module"
            [ "$other" -le "$own" ] || complain "$file includes pesweep/$header.h of a later module"
        done
    done
done

# door PATTERN MODULES: headers matching PATTERN are included only there.
door() {
    local found
    found=$(grep -rlE "^#include [<\"]($1)" src include | grep -vE "^src/($2)/" || true)
    [ -z "$found" ] || complain "only src/($2) may include $1: $found"
}
door 'mpi\.h' comm
door '(cblas|lapacke?)\.h' math
door 'hdf5(_hl)?\.h' store
door 'yaml\.h' sweep

for file in $(find src include analysis tests -name '*.[ch]'); do
    lines=$(wc -l <"$file")
    [ "$lines" -le 600 ] || complain "$file has $lines lines; 600 are the most"
done
exit $bad
