#!/usr/bin/env bash
# The job scripts on a SLURM cluster of two nodes, made for this test: whole, requeued, out of time, killed, cancelled,
# wrongly launched, and as an array; the results are those of a run that nobody disturbed.
for program in munged slurmctld slurmd sbatch srun scontrol; do
    if ! PATH=$PATH:/usr/sbin:/sbin command -v $program > /dev/null; then
        echo "SKIPPED: no $program here; jobs/setup.sh slurm brings it"
        exit 77
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "SKIPPED: a SLURM cluster of its own needs root"
    exit 77
fi
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../mpi/lib.sh"
. "$here/cluster.sh"
# Inside jobs the ranks are bound as the job scripts say.
unset OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy
trap 'stop_cluster; finish' EXIT
trap 'failed=1; exit 1' INT TERM

export PESWEEP PESWEEP_HOME=${here%/tests/slurm} SWEEP=$folder/job.yaml
jobs=$PESWEEP_HOME/jobs
sweep job.yaml "${STEPS:-1500}"
before=$SECONDS
OMPI_MCA_rmaps_base_oversubscribe=1 expect 0 on 2 "$PESWEEP" run job.yaml -o whole.h5 || exit
whole=$((SECONDS - before + 1)) # how long it takes here and now
if ! start_cluster "$folder/cluster"; then
    fail "the cluster didn't start:"
    tail -n 5 cluster/*.out cluster/*.log
    exit
fi

# submit SCRIPT OPTION...: puts the job's number into $job.  The log of job N is N.out, through all its restarts.
submit() {
    local script=$1
    shift
    job=$(sbatch --parsable --output="$folder/%j.out" --ntasks=3 --nodes=2 "$@" "$jobs/$script")
    [ -n "$job" ] || fail "sbatch refused $script $*"
}
fact() {
    local facts
    facts=$(scontrol --oneliner show job "$1" 2> /dev/null)
    [[ $facts =~ (^| )$2=([^ ]*) ]] && echo "${BASH_REMATCH[2]}"
}
state_is() { [[ " $2 " = *" $(fact "$1" JobState) "* ]]; }
explain() {
    fail "$1: job $2 is $(fact "$2" JobState), exit code $(fact "$2" ExitCode)"
    tail -n 15 "$2.out"
}
# ends NAME JOB STATE: within five minutes, of which a machine with nothing else to do needs seconds.
ends() {
    wait_for 300 state_is "$2" "COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL"
    state_is "$2" "$3" || explain "$1" "$2"
}
in_log() { grep -qF -- "$2" "$folder/$1.out" || { fail "job $1 didn't say '$2'"; tail -n 15 "$folder/$1.out"; }; }
not_in_log() { ! grep -qF -- "$2" "$folder/$1.out" || { fail "job $1 said '$2'"; tail -n 15 "$folder/$1.out"; }; }
started() { grep -qs '"event":"trial_started"' "$1.log"; }
waiting_again() { state_is "$1" PENDING && [ "$(fact "$1" Restarts)" = "$2" ]; }
# The process of one rank, by the number that PMIx or mpirun gave it.
rank_of() {
    local pid
    for pid in $(ranks_of "$1"); do
        tr '\0' '\n' < "/proc/$pid/environ" | grep -qxE "(PMIX_RANK|OMPI_COMM_WORLD_RANK)=$2" && echo "$pid"
    done
}
# saved RESULTS [MARK]: there is a checkpoint, and newer than the file MARK.
saved() { [ -n "$(find "$1.ckpt" -name '*.h5' ${2:+-newer "$2"} 2> /dev/null)" ] || fail "$1: nothing was saved"; }
# SLURM lets a requeued job wait for two minutes, in which its nodes are cleared up and its old credential expires.
start_again() {
    wait_for 60 waiting_again "$1" "$2" || { explain "not in the queue again" "$1"; return; }
    wait_for 30 nodes_ready
    sleep 3
    scontrol update JobId="$1" StartTime=now
    wait_for 60 state_is "$1" "RUNNING COMPLETING COMPLETED FAILED" || explain "not started again" "$1"
}
step() { echo "$SECONDS s: $*"; }

for launcher in srun mpirun; do
    export LAUNCHER=$launcher
    step "$launcher: undisturbed"
    export RESULTS=$launcher-whole.h5
    submit sweep.sbatch --time=12:00:00
    [ "$(fact "$job" TimeLimit)" = 12:00:00 ] || fail "12:00:00 became $(fact "$job" TimeLimit)"
    ends "$launcher" "$job" COMPLETED && same whole.h5 $RESULTS
    in_log "$job" "restart 0, 3 ranks x 1 on node[1-2]"

    step "$launcher: requeued by SLURM, as after a preemption"
    export RESULTS=$launcher-requeued.h5
    submit sweep.sbatch
    wait_for 60 started $RESULTS || explain "no start" "$job"
    scontrol requeue "$job"
    wait_for 60 waiting_again "$job" 1
    saved $RESULTS
    start_again "$job" 1
    ends "$launcher requeued" "$job" COMPLETED && same whole.h5 $RESULTS
    in_log "$job" "restart 1,"
    not_in_log "$job" "it goes on from its checkpoints" # by itself, while SLURM does so already

    step "$launcher: warned"
    export RESULTS=$launcher-warned.h5
    submit sweep.sbatch
    wait_for 60 started $RESULTS || explain "no start" "$job"
    scancel --signal=USR1 --batch "$job" # what --signal=B:USR1@120 does in time
    start_again "$job" 1
    ends "$launcher warned" "$job" COMPLETED && same whole.h5 $RESULTS
    in_log "$job" "stopped by signal 10"
    in_log "$job" "it goes on from its checkpoints"

    export RESULTS=$launcher-killed.h5
    for victim in 0 2; do
        step "$launcher: rank $victim killed"
        rm -f $RESULTS.log # which says that trials have started
        submit sweep.sbatch
        wait_for 60 started $RESULTS || explain "no start" "$job"
        touch killed-now
        kill -KILL "$(rank_of $RESULTS $victim)"
        before=$(date +%s%N)
        wait_for 10 state_is "$job" FAILED || explain "10 s after a rank's death" "$job"
        echo "the job was down after $((($(date +%s%N) - before) / 1000000)) ms"
        wait_for 20 no_jobs
        # mpirun ends the others after a second or two: on a busy machine some have saved by then, some have not.
        [ $launcher = mpirun ] || saved $RESULTS killed-now
    done
    submit sweep.sbatch
    ends "$launcher after two ranks' deaths" "$job" COMPLETED && same whole.h5 $RESULTS

    step "$launcher: cancelled, and so it stays"
    export RESULTS=$launcher-cancelled.h5
    submit sweep.sbatch
    wait_for 60 started $RESULTS || explain "no start" "$job"
    scancel "$job"
    ends "$launcher cancelled" "$job" CANCELLED
    wait_for 20 no_jobs || explain "a cancelled job came back" "$job"
    saved $RESULTS
    submit sweep.sbatch
    ends "$launcher after a cancellation" "$job" COMPLETED && same whole.h5 $RESULTS
done

step "a time limit that strikes"
export LAUNCHER=srun RESULTS=limited.h5
# The first start of the ranks comes 15 s before the end of a minute, which is SLURM's shortest limit, and they have
# work for longer: about a minute's, by what the first run took, within bounds since other work comes and goes.  The
# warning is one that means nothing, so that pesweep's own clock is what counts.
longer=$((60 / whole))
sweep limited.yaml $((${STEPS:-1500} * (longer < 6 ? 6 : longer > 16 ? 16 : longer)))
export SWEEP=$folder/limited.yaml
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
    LIMIT=1200 expect 0 on 2 "$PESWEEP" run limited.yaml -o limited-whole.h5
cat > late << 'EOS'
#!/usr/bin/env bash
if [ "$1" = run ] && [ -n "$SLURM_STEP_NUM_TASKS" ] && [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
    IFS=: read -r minutes seconds <<< "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%L)"
    left=$((60 * 10#$minutes + 10#$seconds))
    sleep $((left > 15 ? left - 15 : 0))
fi
exec "$REAL_PESWEEP" "$@"
EOS
chmod +x late
REAL_PESWEEP=$PESWEEP PESWEEP=$folder/late submit sweep.sbatch --time=1 --signal=B:CONT@1
wait_for 100 waiting_again "$job" 1
scontrol update JobId="$job" TimeLimit=60
start_again "$job" 1
ends "limited" "$job" COMPLETED && same limited-whole.h5 $RESULTS
export SWEEP=$folder/job.yaml
in_log "$job" "stopped by the time limit"
in_log "$job" "it goes on from its checkpoints"

step "refusals"
export RESULTS=refused.h5
# Without --mpi=pmix every task is alone in its world.
MPI=none submit sweep.sbatch
wait_for 30 state_is "$job" FAILED || explain "srun without PMIx" "$job"
[ "$(fact "$job" ExitCode)" = 2:0 ] || explain "srun without PMIx" "$job"
in_log "$job" "use srun --mpi=pmix"
[ "$(grep -c 'use srun --mpi=pmix' "$job.out")" = 1 ] || explain "each task complains" "$job"
SWEEP='' submit sweep.sbatch
ends "no sweep" "$job" FAILED
in_log "$job" "SWEEP isn't set"
LAUNCHER=prun submit sweep.sbatch
ends "unknown launcher" "$job" FAILED
in_log "$job" "allowed: srun, mpirun"
PESWEEP=/no/such/pesweep submit sweep.sbatch
ends "no program" "$job" FAILED
in_log "$job" "PESWEEP: '/no/such/pesweep' doesn't run here"
PESWEEP_HOME=/ submit sweep.sbatch
ends "no checkout" "$job" FAILED
in_log "$job" "set PESWEEP_HOME"
submit array.sbatch --array=2-3 --ntasks=1 --nodes=1
wait_for 60 test -s $((job + 1)).out
wait_for 60 no_jobs
cat -- $((job)).out $((job + 1)).out > "$job.both.out" 2> /dev/null
in_log "$job.both" "set PARTS to the number of all"
# srun that couldn't start its step may answer 0 all the same.
mkdir pretender && printf '#!/bin/sh\nexit 0\n' > pretender/srun && chmod +x pretender/srun
PATH=$folder/pretender:$PATH submit sweep.sbatch
ends "nothing was started" "$job" FAILED
in_log "$job" "answered 0, but trials are left"
[ -z "$(ls -d refused.h5* 2> /dev/null)" ] || fail "a refused job left $(ls -d refused.h5*)"

step "an array, one of its parts warned, and its merge"
export RESULTS=array.h5
submit array.sbatch --array=1-3 --ntasks=1 --nodes=1
array=$job
submit merge.sbatch --ntasks=1 --nodes=1 --dependency="afterok:$array"
wait_for 60 started array.h5.parts/1-of-3.h5 || explain "no start" "$array"
scancel --signal=USR1 --batch "${array}_1"
part=$(squeue --noheader --array --jobs="${array}_1" --format=%A)
wait_for 60 waiting_again "${part:-$array}" 1
wait_for 60 nodes_ready # the other parts have ended by then
state_is "$job" PENDING || explain "the merge didn't wait for all parts" "$job"
start_again "${part:-$array}" 1
ends "merge" "$job" COMPLETED && same whole.h5 array.h5
in_log "$job" "4 of them finished"
rm array.h5 array.h5.parts/2-of-3.h5
expect 75 bash "$jobs/merge.sbatch"
said "trials are missing"
PARTS=3 submit array.sbatch --array=2 --ntasks=1 --nodes=1
wait_for 60 no_jobs
expect 0 bash "$jobs/merge.sbatch" && same whole.h5 array.h5
step "end"
