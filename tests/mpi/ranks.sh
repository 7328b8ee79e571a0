#!/usr/bin/env bash
# The same results on any number of ranks, whoever schedules and whoever writes.
. "$(dirname "$0")/lib.sh"
sweep four.yaml 150

expect 0 on 0 "$PESWEEP" run four.yaml -o bare.h5
for ranks in 1 2 3 9; do
    expect 0 on $ranks "$PESWEEP" run four.yaml -o ranks$ranks.h5 && same bare.h5 ranks$ranks.h5
done
expect 0 on 3 "$PESWEEP" run four.yaml -o dedicated.h5 --dedicated-scheduler && same bare.h5 dedicated.h5
expect 0 on 3 "$PESWEEP" run four.yaml -o rank0.h5 --writer rank0 && same bare.h5 rank0.h5
expect 0 on 3 "$PESWEEP" run four.yaml -o shared.h5 --writer shared && same bare.h5 shared.h5
expect 0 on 2 "$PESWEEP" run four.yaml -o both.h5 --writer rank0 --dedicated-scheduler && same bare.h5 both.h5
expect 0 on 0 "$PESWEEP" run four.yaml -o alone.h5 --dedicated-scheduler && same bare.h5 alone.h5 && said "means nothing"
expect 0 on 0 "$PESWEEP" run four.yaml -o threads.h5 --threads-per-rank 2 && same bare.h5 threads.h5
# What a user's profile sets for OpenBLAS changes neither bits nor threads.
expect 0 env OPENBLAS_NUM_THREADS=4 "$PESWEEP" run four.yaml -o blas.h5 && same bare.h5 blas.h5

grep -q '"event":"trial_ended".*"rank":0' dedicated.h5.log && fail "the dedicated scheduler trained"
expect 0 "$PESWEEP" status rank0.h5 --json && said '"writer": "rank0"'
expect 0 "$PESWEEP" status threads.h5 --json && said '"threads_per_rank": 2'
expect 0 "$PESWEEP" status blas.h5 --json && said '"threads_per_rank": 1'

# Nothing is left to do: at once, and without a trial.
expect 0 on 2 "$PESWEEP" run four.yaml -o bare.h5 && said "nothing left to train"
[ ! -e bare.h5.ckpt ] || fail "checkpoints were left behind"
[ ! -e bare.h5.lock ] || fail "the lock was left behind"

# The file tells who made it.
expect 0 "$PESWEEP" status ranks9.h5 --json
for fact in '"ranks": 9' '"threads_per_rank": 1' '"idle_share": 0.' '"isa": ' '"blas_core": ' '"mpi": ' '"hdf5": ' '"outcome": "done"'; do
    said "$fact"
done

# More seeds extend the file; the first four rows stay as they were.
sweep more.yaml 150 "pe: [nope, rope]" "seed: 0..2"
expect 0 on 0 "$PESWEEP" run more.yaml -o six.h5
cp bare.h5 grown.h5
expect 0 on 2 "$PESWEEP" run more.yaml -o grown.h5 --json
said '"to_train":2'
same six.h5 grown.h5

# Another instruction set goes on with the same file, and says so.
sweep kernels.yaml 20 "pe: [nope, rope]"
expect 0 env PESWEEP_ISA=portable "$PESWEEP" run kernels.yaml -o kernels.h5
sweep kernels.yaml 20 "pe: [nope, rope, t5]"
expect 0 "$PESWEEP" run kernels.yaml -o kernels.h5
said "an earlier start used portable"
expect 1 "$PESWEEP" replay kernels.h5 --trial 0
said "instruction set: portable then"
expect 0 env PESWEEP_ISA=portable "$PESWEEP" replay kernels.h5 --trial 0

# A trial is trained again and compared bit by bit.
expect 0 "$PESWEEP" replay ranks9.h5 --trial 3 && said "the same"
expect 2 "$PESWEEP" replay ranks9.h5 --trial 4
