# What all test scripts share: the environment of their runs, and a folder of their own, which is removed unless the test
# fails.  `kind` goes into the folder's name.
# More ranks than cores, as any user including root, nowhere bound: by environment, so that other MPIs don't mind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries and what they load give back nothing at their end
export OMP_WAIT_POLICY=passive # threads that spin starve each other where cores are shared
unset SLURM_JOB_ID SLURM_PROCID SLURM_STEP_NUM_TASKS

folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-$kind-XXXXXX")
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
