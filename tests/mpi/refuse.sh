#!/usr/bin/env bash
# What can't go well is refused within seconds, with its repair, and with nothing touched.
. "$(dirname "$0")/lib.sh"
sweep one.yaml 600
sweep other.yaml 600 "pe: [nope, rope]" "seed: 0..3"
sed -i 's/^name:.*/name: one/' other.yaml

# Ranks that read different sweep files, have different options, or are different builds.
expect 2 "$MPIRUN" -n 1 "$PESWEEP" run one.yaml -o a.h5 : -n 1 "$PESWEEP" run other.yaml -o a.h5
said "different contents of the sweep file: rank 1 on"
expect 2 "$MPIRUN" -n 2 "$PESWEEP" run one.yaml -o a.h5 : -n 1 "$PESWEEP" run one.yaml -o b.h5
said "the results file: rank 2 on"
expect 2 "$MPIRUN" -n 1 "$PESWEEP" run one.yaml -o a.h5 : -n 1 "$PESWEEP" run one.yaml -o a.h5 --retry all
said "the options of pesweep run: rank 1 on"
expect 2 "$MPIRUN" -n 1 "$PESWEEP" run one.yaml -o a.h5 : -n 1 "$PESWEEP_OTHER" run one.yaml -o a.h5
said "different builds of pesweep: rank 1 on"
said "other build"

# srun that started singletons.
expect 2 env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 "$PESWEEP" run one.yaml -o a.h5
said "srun --mpi=pmix"
expect 2 env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 "$PESWEEP" run one.yaml -o a.h5
[ ! -s out ] || { fail "each of the singletons speaks:"; cat out; }

# More threads than cores the rank may use.
expect 2 on 2 "$PESWEEP" run one.yaml -o a.h5 --threads-per-rank 1000
said "is to have 1000 threads"

# A sweep file that only says so when it is read, on every rank, once.
sed 's/steps: /stepz: /' one.yaml > wrong.yaml
expect 2 on 3 "$PESWEEP" run wrong.yaml -o a.h5
[ "$(grep -c 'stepz' out)" = 1 ] || { fail "the error is told more than once, or not at all:"; cat out; }
expect 2 on 2 "$PESWEEP" run missing.yaml -o a.h5
# A claim about what won't be measured is refused by plan and by run alike.
cp one.yaml claim.yaml
echo 'claims: [{name: c, metric: final.test_acuracy, axis: pe, better: rope, than: nope}]' >> claim.yaml
expect 2 "$PESWEEP" plan claim.yaml && said "claim.yaml:10:" && said "did you mean test_accuracy"
expect 2 on 2 "$PESWEEP" run claim.yaml -o a.h5 && said "did you mean test_accuracy"
expect 2 "$PESWEEP" run one.yaml --time-limit soon
expect 2 "$PESWEEP" run one.yaml --time_limit 10
said "--time-limit"

# Places that can't hold a file.
expect 74 on 2 "$PESWEEP" run one.yaml -o no/such/folder/a.h5
echo "a text" > text.h5
cp text.h5 text.copy
expect 2 on 2 "$PESWEEP" run one.yaml -o text.h5
cmp -s text.h5 text.copy || fail "a foreign file was touched"
mkdir folder.h5
(on 2 "$PESWEEP" run one.yaml -o folder.h5) > out 2>&1 && fail "a folder was taken for a file"

left=$(ls -d a.h5* b.h5* text.h5.* folder.h5.* no 2> /dev/null)
[ -z "$left" ] || fail "files were left behind: $left"

# A dry run says what it would do, and does nothing.
expect 0 on 2 "$PESWEEP" run one.yaml -o a.h5 --dry-run
said "4 of 4 trials to train"
[ -z "$(ls -d a.h5* 2> /dev/null)" ] || fail "the dry run wrote something"

# A second run on the same file, while the first is at it: long enough for refusals on a fast machine. It is pesweep's own
# lock that holds, so that HDF5's may be switched off.
sweep long.yaml 4000
export HDF5_USE_FILE_LOCKING=FALSE
on 2 "$PESWEEP" run long.yaml -o busy.h5 > first 2>&1 &
first=$!
wait_for 120 test -s busy.h5.log || fail "no start"
expect 73 on 2 "$PESWEEP" run long.yaml -o busy.h5
said "busy.h5"
unset HDF5_USE_FILE_LOCKING
expect 73 on 0 "$PESWEEP" run long.yaml -o ./busy.h5
wait $first || { fail "the first run suffered:"; cat first; }
expect 0 on 2 "$PESWEEP" run long.yaml -o free.h5 && same busy.h5 free.h5
