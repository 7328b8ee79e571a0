#!/usr/bin/env bash
# Independent runs of the parts of a sweep, united, are the sweep.
. "$(dirname "$0")/lib.sh"
sweep small.yaml 120 "pe: [nope, rope, alibi]" "seed: 0..1"
expect 0 on 2 "$PESWEEP" run small.yaml -o whole.h5
total=0
for part in 1 2 3 4; do
    expect 0 on $((part % 3)) "$PESWEEP" run small.yaml -o $part.h5 --part $part/4
    total=$((total + $(grep -c '"event":"trial_ended"' $part.h5.log)))
done
[ $total = 6 ] || fail "the parts trained $total trials, not 6"
expect 0 on 1 "$PESWEEP" run small.yaml -o 1.h5 --part 1/4
said "nothing left to train"
expect 0 "$PESWEEP" merge 1.h5 2.h5 3.h5 4.h5 --sweep small.yaml -o united.h5
said "6 trials, 6 of them finished"
same whole.h5 united.h5
# What is measured otherwise is named by its key, not by the variables that follow from it.
sed 's/^measure:.*/measure: {attention_maps: 0}/' small.yaml > other.yaml
expect 2 "$PESWEEP" merge 1.h5 --sweep other.yaml -o other.h5
said "1.h5 was made with measure."

# A part's file can become the whole; more parts than trials leave some with nothing to do.
expect 0 on 2 "$PESWEEP" run small.yaml -o 3.h5 && same whole.h5 3.h5
expect 0 on 1 "$PESWEEP" run small.yaml -o none.h5 --part 7/7
said "nothing left to train"
expect 0 on 1 "$PESWEEP" run small.yaml -o none.h5 --part 1/2 --dry-run
said "3 of 3 trials to train"

for wrong in 0/4 5/4 3 3/ /4 a/b 1/4/4 -1/4 1/1000001; do
    expect 2 "$PESWEEP" run small.yaml -o wrong.h5 "--part=$wrong"
    said "--part is '$wrong'"
done
expect 2 "$MPIRUN" -n 1 "$PESWEEP" run small.yaml -o wrong.h5 --part 1/2 : -n 1 "$PESWEEP" run small.yaml -o wrong.h5 --part 2/2
said "the options of pesweep run: rank 1 on"
[ ! -e wrong.h5 ] || fail "a refused run wrote something"
