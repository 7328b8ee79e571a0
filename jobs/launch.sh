# launch.sh - what sweep.sbatch and array.sbatch share; they source it.  Not a program of its own.
#
# launch_sweep SWEEP RESULTS [OPTION...] runs `pesweep run` on the tasks of this job, passes warnings on to it, and if
# it left early in good order (exit code 75) puts the job back into the queue.  Returns pesweep's exit code.
# $script is the name of the script that sources this.

refuse() {
    echo "$script: $*" >&2
    exit 2
}
say() { echo "$(date '+%F %T') job $SLURM_JOB_ID: $*"; }

# SLURM's word for this job: RUNNING, or CANCELLED, TIMEOUT, PREEMPTED ... while it is being ended.
state_of_job() {
    local facts
    facts=$(scontrol --oneliner show job "$SLURM_JOB_ID" 2>/dev/null) || facts=
    [[ $facts =~ JobState=([A-Z_]+) ]] && echo "${BASH_REMATCH[1]}"
}

# The command that starts the ranks, in the array `start`.
choose_launcher() {
    local launcher=$1 threads=$2
    case $launcher in
    srun)
        # Since SLURM 22.05 a step doesn't inherit --cpus-per-task: without this all threads of a rank share a core.
        export SRUN_CPUS_PER_TASK=$threads
        # --kill-on-bad-exit: if a rank dies the others are told (TERM) and have SLURM's KillWait (30 s) to save; by
        # default they are killed at once.
        # --export: also where the job was submitted with --export=NONE.
        start=(srun "--mpi=$MPI" --ntasks="$SLURM_NTASKS" --cpus-per-task="$threads" --cpu-bind=cores
            --kill-on-bad-exit=1 --export=ALL)
        ;;
    mpirun)
        # mpirun reads the allocation itself, but would bind a rank to one core, or to a whole socket.  Where SLURM
        # doesn't confine the job to its own cores, binding would put the ranks of several jobs on the same first ones.
        start=(mpirun -n "$SLURM_NTASKS" --map-by "slot:PE=$threads")
        if [ "$(nproc)" -gt "${SLURM_CPUS_ON_NODE:-0}" ]; then
            start=(mpirun -n "$SLURM_NTASKS" --map-by slot --bind-to none)
        fi
        ;;
    *) refuse "LAUNCHER is '$launcher'; allowed: srun, mpirun" ;;
    esac
}

launch_sweep() {
    local sweep=$1 results=$2 start code pid threads=${SLURM_CPUS_PER_TASK:-1} asked=''
    shift 2
    [ -n "${SLURM_JOB_ID:-}" ] || refuse "this is a job script: sbatch jobs/$script"
    : "${SLURM_NTASKS:=1}"
    [ -r "$sweep" ] || refuse "SWEEP: can't read '$sweep' in $PWD"
    "$PESWEEP" --version >/dev/null || refuse "PESWEEP: '$PESWEEP' doesn't run here (build it, load its modules in SETUP, or name another)"
    choose_launcher "$LAUNCHER" "$threads"
    # shellcheck disable=SC2206 # words are meant to split
    local command=("${start[@]}" ${LAUNCHER_ARGS:-} "$PESWEEP" run "$sweep" -o "$results" --threads-per-rank "$threads"
        ${PESWEEP_ARGS:-} "$@")
    say "restart ${SLURM_RESTART_COUNT:-0}, ${SLURM_NTASKS} ranks x $threads on ${SLURM_JOB_NODELIST:-?}: ${command[*]}"

    # The launcher passes USR1 on to every rank; TERM would give mpirun's ranks two seconds before it kills them.
    pid=
    trap 'asked=USR1; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' USR1
    trap 'asked=TERM; [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null' TERM
    "${command[@]}" &
    pid=$!
    # A trapped signal ends `wait` early, so it is repeated until the launcher is gone.
    while :; do
        wait "$pid"
        code=$?
        kill -0 "$pid" 2>/dev/null || break
    done
    trap '' USR1 TERM

    # mpirun that got TERM itself answers 1; a launcher that was just starting dies of the signal.
    if [ -n "$asked" ]; then
        case $code in 1 | 137 | 138 | 143) code=75 ;; esac
    fi
    # srun may answer 0 when it couldn't start the step at all.
    if [ "$code" = 0 ] && trials_left "$sweep" "$results" "$@"; then
        say "$LAUNCHER answered 0, but trials are left (see above for why): submit the job again"
        code=1
    fi
    [ "$code" = 75 ] && requeue
    say "ends with exit code $code"
    return "$code"
}

# Whether the same run would still train something; nothing is trained by asking.
trials_left() {
    local sweep=$1 results=$2 answer
    shift 2
    if ! answer=$("$PESWEEP" run "$sweep" -o "$results" --dry-run --retry none "$@" 2>&1); then
        say "it couldn't be checked that all trials are done: $answer"
        return 1
    fi
    [[ $answer != *": 0 of "* ]]
}

# Puts this job back into the queue, unless somebody wants it to end, or does so already.
requeue() {
    local state
    state=$(state_of_job)
    case $state in
    RUNNING) ;;
    *)
        say "not put back into the queue from here, since SLURM is ending or requeueing it (${state:-no answer})"
        return
        ;;
    esac
    if [ "${SLURM_RESTART_COUNT:-0}" -ge "${MAX_RESTARTS:-100}" ]; then
        say "not put back into the queue after ${SLURM_RESTART_COUNT} restarts (MAX_RESTARTS); submit it again to go on"
        return
    fi
    if scontrol requeue "$SLURM_JOB_ID"; then
        say "put back into the queue; it goes on from its checkpoints"
    else
        say "SLURM refused to put it back into the queue; submit it again to go on"
    fi
}
