#!/usr/bin/env bash
# Trials that diverge or fail are results: the sweep goes on, the exit code and the file tell.
. "$(dirname "$0")/lib.sh"

# Diverged: done, and never tried again unless all are to be.
sweep diverging.yaml 60 "train.loss_bound: [1000, 0.5]" "seed: 0..1"
expect 0 on 2 "$PESWEEP" run diverging.yaml -o diverging.h5 --json
said '"outcome":"diverged"'
[ "$(grep -c '"outcome":"done"' out)" = 2 ] || fail "the other trials aren't done"
expect 0 on 3 "$PESWEEP" run diverging.yaml -o diverging.h5 && said "nothing left to train"
cp diverging.h5 again.h5
expect 0 on 2 "$PESWEEP" run diverging.yaml -o again.h5 --retry all --json
said '"to_train":2'
same diverging.h5 again.h5
expect 0 "$PESWEEP" replay diverging.h5 --trial 2

# Failed: too large for the memory there is.  The others are done, the code is 3, and only a retry tries again.
weights=none model="layers: 2, heads: 2, d_ff: 64" sweep large.yaml 60 "model.d_model: [32, 4096]" "seed: 0..1"
(
    ulimit -v 2500000
    expect 3 on 2 "$PESWEEP" run large.yaml -o large.h5 --json
    said "2 of 4 trials failed"
    [ "$(grep -c '"outcome":"failed","reason":"memory"' out)" = 2 ] || { fail "no two trials lack memory:"; cat out; }
    [ "$(grep -c '"outcome":"done"' out)" = 2 ] || fail "the others aren't done"
    expect 3 on 2 "$PESWEEP" run large.yaml -o large.h5 --json
    said '"to_train":2'
    exit $failed
) || failed=1
expect 3 on 2 "$PESWEEP" run large.yaml -o large.h5 --retry none
said "nothing left to train"
expect 2 "$PESWEEP" replay large.h5 --trial 3
said "is failed"
