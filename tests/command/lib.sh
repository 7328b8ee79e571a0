# What the tests of the command line share.  Each is a bash script that sources this file; it runs in a folder of its own,
# which is removed unless the test fails.  PESWEEP names the program, SOURCE the folder of the project.
set -u
: "${PESWEEP:?the program under test}" "${SOURCE:?the folder of the project}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries and what they load give back nothing at their end
export OMP_WAIT_POLICY=passive
unset SLURM_JOB_ID SLURM_PROCID SLURM_STEP_NUM_TASKS

folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-command-XXXXXX")
cd "$folder" || exit 1
failed=0
finish() {
    if [ $failed = 0 ]; then rm -rf "$folder"; else echo "left behind: $folder"; fi
    exit $failed
}
trap finish EXIT

fail() {
    echo "FAILED: $*"
    failed=1
}

# skip REASON: ends the test as skipped.
skip() {
    echo "skipped: $*"
    trap - EXIT
    rm -rf "$folder"
    exit 77
}

# want CODE COMMAND...: its output stands in ./out and is shown if the exit code is another one.
want() {
    local code=$1 got
    shift
    "$@" > out 2>&1
    got=$?
    [ $got = "$code" ] || { fail "'$*' gave $got, not $code:"; tail -n 30 out; return 1; }
}

# said TEXT / unsaid TEXT: ./out has it, or hasn't.
said() { grep -qF -- "$1" out || { fail "nothing was said of '$1':"; tail -n 30 out; }; }
unsaid() { ! grep -qF -- "$1" out || { fail "'$1' was said:"; tail -n 30 out; }; }
