#!/usr/bin/env bash
# A run that is asked to stop saves, leaves with 75, and goes on to the same results.
. "$(dirname "$0")/lib.sh"
sweep long.yaml 1200
before=$SECONDS
expect 0 on 2 "$PESWEEP" run long.yaml -o whole.h5
whole=$((SECONDS - before)) # how long it takes here and now

# stop NAME RANKS HOW: HOW is given the process numbers of mpirun and of the ranks.
stop() {
    local name=$1 ranks=$2 how=$3 code
    on "$ranks" "$PESWEEP" run long.yaml -o "$name.h5" > out 2>&1 &
    local launcher=$!
    wait_for 120 started "$name.h5" || fail "$name: no start"
    sleep 0.2
    $how $launcher $(ranks_of "$name.h5")
    wait $launcher
    code=$?
    [ $code = 75 ] || { fail "$name: $code instead of 75"; tail -n 20 out; }
    said "run the same command again"
    ls "$name.h5.ckpt"/*.h5 > /dev/null 2>&1 || fail "$name: nothing was saved"
    expect 0 on 2 "$PESWEEP" run long.yaml -o "$name.h5" && same whole.h5 "$name.h5"
    grep -q '"first_step":[1-9]' "$name.h5.log" || fail "$name: the saved trials were trained from the start"
    [ ! -e "$name.h5.ckpt" ] || fail "$name: checkpoints were left behind"
}
gone() { [ -z "$(ranks_of "$1")" ]; }
started() { grep -qs '"event":"trial_started"' "$1.log"; }
usr1_to_launcher() { kill -USR1 "$1"; }
usr1_to_ranks() { shift; kill -USR1 "$@"; }
usr1_to_one_worker() { kill -USR1 "$3"; }
usr1_to_rank_0() { kill -USR1 "$2"; }
term_to_ranks() { shift; kill -TERM "$@"; sleep 0.05; kill -CONT "$@"; kill -TERM "$@"; }
term_to_program() { kill -TERM "$1"; }
int_to_program() { kill -INT "$1"; }

# MPICH's mpiexec passes a signal on as well, but then often answers 0 for whatever its ranks answer.
[[ $("$MPIRUN" --version) = *Open?MPI* ]] && open_mpi=yes || open_mpi=no
if [ $open_mpi = yes ]; then stop usr1 2 usr1_to_launcher; else stop usr1 2 usr1_to_ranks; fi
stop worker 3 usr1_to_one_worker
stop root 3 usr1_to_rank_0
stop terms 2 term_to_ranks
stop alone 0 term_to_program
# A shell's background job ignores INT, and the program puts its own handler in place of that.
stop interrupt 0 int_to_program

# mpirun answers TERM with a second or two of grace and its own exit code.
on 2 "$PESWEEP" run long.yaml -o graced.h5 > out 2>&1 &
launcher=$!
wait_for 120 started graced.h5
sleep 0.2
kill -TERM $launcher
wait $launcher && [ $open_mpi = yes ] && fail "mpirun says that all is well after TERM"
expect 0 on 2 "$PESWEEP" run long.yaml -o graced.h5 && same whole.h5 graced.h5

# What SLURM does with a rank's death: the others get TERM and go on.  Whatever they wait for, a message to the dead rank
# or their last meeting, they save and leave in a few seconds.  Open MPI alone can let them live.
for victim in 0 1; do
    [ $open_mpi = yes ] || break
    rm -f bereaved.h5.log
    PRTE_MCA_state_base_recoverable=1 OMPI_MCA_orte_abort_on_non_zero_status=0 on 3 "$PESWEEP" run long.yaml -o bereaved.h5 > out 2>&1 &
    launcher=$!
    wait_for 120 started bereaved.h5
    sleep 0.2
    ranks=()
    for pid in $(ranks_of bereaved.h5); do
        number=$(tr '\0' '\n' < "/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
        if [ "$number" = $victim ]; then kill -KILL "$pid"; else ranks+=("$pid"); fi
    done
    [ ${#ranks[@]} = 2 ] || fail "${#ranks[@]} ranks live after one of three was killed"
    kill -TERM "${ranks[@]}"
    wait_for 30 gone bereaved.h5 || { fail "rank $victim is dead, and others wait for it"; kill -KILL "${ranks[@]}"; }
    { kill -TERM $launcher && wait $launcher; } 2> /dev/null # this mpirun waits for ranks that ended otherwise
    said "after TERM not all ranks came to the end"
    ls bereaved.h5.ckpt/*.h5 > /dev/null 2>&1 || fail "the others saved nothing after the death of rank $victim"
done
expect 0 on 2 "$PESWEEP" run long.yaml -o bereaved.h5 && same whole.h5 bereaved.h5

# Our own clock: parts shorter than the sweep, as many as it takes, none much longer than the limit.
limit=$((1 + whole / 3))
for part in 1 2 3 4 5 6 7 8 9 10; do
    before=$(date +%s%N)
    (on 2 "$PESWEEP" run long.yaml -o limited.h5 --time-limit $limit) > out 2>&1
    code=$?
    spent=$((($(date +%s%N) - before) / 1000000))
    [ $code = 0 ] && break
    [ $code = 75 ] || { fail "time limit: $code instead of 75"; tail -n 20 out; break; }
    [ $spent -lt $((1000 * limit + 5000)) ] || fail "a limit of $limit s was left after $spent ms"
    said "by the time limit"
done
[ $part -gt 1 ] || fail "the time limit never struck"
[ $code = 0 ] || fail "$part parts weren't enough"
same whole.h5 limited.h5

# SLURM's end of the job counts like the option.  Without mpirun, which would put its own folder before ours.
mkdir bin
printf '#!/bin/sh\necho 0:01\n' > bin/squeue
chmod +x bin/squeue
expect 75 env SLURM_JOB_ID=1 PATH="$folder/bin:$PATH" "$PESWEEP" run long.yaml -o slurm.h5

# Checkpoints by time: with one a moment the results stay the same.
expect 0 on 2 "$PESWEEP" run long.yaml -o saved.h5 --checkpoint-every 0.1 && same whole.h5 saved.h5

# Impatience: the second INT ends the program at once, and the file is none the worse.
"$PESWEEP" run long.yaml -o twice.h5 > out 2>&1 &
program=$!
wait_for 120 started twice.h5
kill -STOP $program && kill -INT $program && kill -CONT $program && sleep 0.01
kill -INT $program 2> /dev/null
wait $program
code=$?
[ $code = 130 ] || [ $code = 75 ] || fail "two INTs gave $code"
expect 0 on 2 "$PESWEEP" run long.yaml -o twice.h5 && same whole.h5 twice.h5
