#!/usr/bin/env bash
# A file that a pesweep with fewer variables began is gone on with: its rows stay as they are, the rest has the same
# variables, and their bits are those of a run by one pesweep.
. "$(dirname "$0")/lib.sh"
: "${OLDER_FILE:?the program older_file}"
missing=(spectra/singular_values curves/rotational_fraction trials/empty_steps)
sweep small.yaml 60
expect 0 on 2 "$PESWEEP" run small.yaml -o whole.h5
expect 0 "$OLDER_FILE" whole.h5 small.yaml expected.h5 4 "${missing[@]}"
expect 0 "$OLDER_FILE" whole.h5 small.yaml older.h5 2 "${missing[@]}"
cp older.h5 part.h5
cp older.h5 more.h5
expect 0 on 2 "$PESWEEP" run small.yaml -o older.h5
said "older.h5 was begun by an older pesweep: 3 of"
said "2 of 4 trials to train"
same expected.h5 older.h5
expect 0 "$PESWEEP" verify older.h5
expect 0 "$PESWEEP" replay older.h5 --trial 0 # from before
expect 0 "$PESWEEP" replay older.h5 --trial 3 # and from after

# The same through rank 0 alone, stopped in between.
expect 75 on 2 "$PESWEEP" run small.yaml -o part.h5 --writer rank0 --time-limit 0.01
expect 0 on 3 "$PESWEEP" run small.yaml -o part.h5 --writer rank0 && same expected.h5 part.h5

# More trials than before.
sweep more.yaml 60 "pe: [nope, rope, alibi]" "seed: 0..1"
sed -i 's/^name:.*/name: small/' more.yaml
expect 0 on 2 "$PESWEEP" run more.yaml -o more.h5
said "written anew for 6 trials, 2 of them finished before"
expect 0 "$PESWEEP" verify more.h5

# Files of both, united: what both have.
expect 0 "$PESWEEP" merge whole.h5 older.h5 -o united.h5
said "; 3 of"
said "variables are left out"
said "4 stood in two files, with the same results"
same expected.h5 united.h5

# A claim on what the file hasn't is told before the training.
{ cat small.yaml && echo "claims: [{name: c, metric: final.empty_steps, axis: pe, better: rope, than: others, test: permutation}]"; } > claim.yaml
expect 2 on 2 "$PESWEEP" run claim.yaml -o older.h5
said "unknown metric 'empty_steps'"
# Other settings are that, not an older program.
sed 's/checkpoints: 3/checkpoints: 4/' small.yaml > other.yaml
expect 2 on 1 "$PESWEEP" run other.yaml -o older.h5
said "was made with measure.checkpoints: 3, the sweep now says 4"
