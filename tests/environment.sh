# The environment of every test script that starts pesweep with MPI.
# More ranks than cores, as any user including root, nowhere bound: by environment, so that other MPIs don't mind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none # Open MPI 5
export ASAN_OPTIONS=detect_leaks=0 # MPI libraries and what they load give back nothing at their end
export OMPI_MCA_mpi_yield_when_idle=1 # ranks that wait leave their core to the test beside them
export OMP_WAIT_POLICY=passive # threads that spin starve each other where cores are shared
unset SLURM_JOB_ID SLURM_PROCID SLURM_STEP_NUM_TASKS
