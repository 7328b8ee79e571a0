#!/usr/bin/env bash
# A fresh clone, one command: jobs/local.sh ends with a results file that verifies, and its closing lines tell what to do.
source "$(dirname "$0")/lib.sh"
command -v git > /dev/null && git -C "$SOURCE" rev-parse > /dev/null 2>&1 || skip "the source is no git checkout"

want 0 git clone -q "$SOURCE" clone
cd clone || exit 1
want 0 timeout 1500 jobs/local.sh
said "Results: results/quick.h5"
sed -n 's/^Look at them: *//p; s/^Report: *//p' out > told
[ "$(wc -l < told)" -eq 2 ] || fail "local.sh doesn't tell what to do next"
want 0 bash -e told
[ -s results/quick-report/index.html ] || fail "no report"
want 0 build/release/pesweep verify results/quick.h5
said "8 of 8 trials are finished"
want 0 jobs/local.sh
said "nothing left to train"
rm out told
cd ..
want 0 git -C clone status --porcelain
[ ! -s out ] || { fail "it leaves files that git doesn't ignore:"; cat out; }
