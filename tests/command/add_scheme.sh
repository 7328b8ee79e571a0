#!/usr/bin/env bash
# The README's tutorial of a position scheme, followed in a copy of the project: one file, one row, no other edit.  It
# is listed, passes the conformance tests, trains, and stands in the results and the report.
source "$(dirname "$0")/lib.sh"

mkdir blocks project
(cd "$SOURCE" && tar -cf - --exclude=./build --exclude=./.git --exclude='./build-*' .) | tar -C project -xf -
awk -v to=blocks -f "$SOURCE/tests/command/blocks.awk" "$SOURCE/README.md"
marker=$(grep -l '^file: src/position/' blocks/*.marker)
file=$(sed 's/^file: //' "$marker")
commands=$(grep -l '^run by: test_add_scheme' blocks/*.marker)
[ -s "${marker%.marker}.c" ] && [ -s "${commands%.marker}.sh" ] || fail "the README's blocks were not found"
name=$(basename "$file" .c)

cp "${marker%.marker}.c" "project/$file"
cd project || exit 1
want 1 cmake --preset release
tr -s '\n ' ' ' < out > line && mv line out # CMake breaks lines
said "src/position/$name.c has no row X($name) in include/pesweep/position.h"
rm -rf build

# The row behind the last one of the table.
awk -v row="    X($name)" '
    /^#define PES_POSITIONS\(X\)/ { inside = 1 }
    inside && !/\\$/ { print $0 "  \\"; print row; inside = 0; next }
    { print }' include/pesweep/position.h > header && mv header include/pesweep/position.h
want 0 diff <(diff "$SOURCE/include/pesweep/position.h" include/pesweep/position.h | grep -c '^>') <(echo 2)

export PATH="$PWD/build/release:$PATH"
bash -euo pipefail "../${commands%.marker}.sh" > ../said 2>&1 || { fail "a command of the tutorial:"; tail -n 40 ../said; }
grep -q "^  $name .*logarithm" ../said || fail "it is not listed"
grep -q '100% tests passed' ../said || fail "the conformance tests:"
want 0 build/release/tests/test_position_conformance
want 0 pesweep status log-distance.h5
said "2 done"
grep -q "$name" log-distance-report/index.html || fail "the report doesn't know it"
want 0 pesweep plan --summary <(printf 'task: count\nmodel: {pe: %s}\ntrain: {steps: 5}\n' "$name")
want 2 pesweep plan <(printf 'task: count\nmodel: {pe: %ss}\ntrain: {steps: 5}\n' "$name")
said "did you mean $name?"
