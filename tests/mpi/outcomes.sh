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
