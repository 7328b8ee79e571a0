# cluster.sh - a SLURM cluster of two nodes on this machine, for root, without systemd or cgroups.
#
# start_cluster FOLDER: munged, slurmctld and one slurmd per node, with all their files in FOLDER and their ports on
# the loopback address, as children of this shell.  stop_cluster ends jobs, then daemons, by their process numbers.

daemons=()

# A port that nobody listens on, in $port: the next one after it.
next_port() {
    while port=$((port + 1)) && (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
}

configure() {
    local host node
    host=$(hostname -s)
    port=$((20000 + RANDOM % 10000))
    next_port
    {
        echo "ClusterName=pesweeptest"
        echo "SlurmctldHost=$host(127.0.0.1)"
        echo "SlurmctldPort=$port"
        echo "SlurmUser=root"
        echo "SlurmdUser=root"
        echo "AuthType=auth/munge"
        echo "AuthInfo=socket=$1/munge/socket"
        echo "StateSaveLocation=$1/state"
        echo "SlurmctldPidFile=$1/slurmctld.pid"
        echo "SlurmctldLogFile=$1/slurmctld.log"
        echo "SlurmdSpoolDir=$1/spool-%n"
        echo "SlurmdPidFile=$1/slurmd-%n.pid"
        echo "SlurmdLogFile=$1/slurmd-%n.log"
        echo "TmpFS=$1/tmp-%n" # PMIx's folders: they must differ between the nodes
        echo "ProctrackType=proctrack/linuxproc"
        echo "TaskPlugin=task/none"
        echo "JobAcctGatherType=jobacct_gather/none"
        echo "SelectType=select/cons_tres"
        echo "SelectTypeParameters=CR_CPU"
        echo "SlurmdParameters=config_overrides" # more cores than there are
        echo "MpiDefault=none"
        echo "ReturnToService=2"
        echo "KillWait=30"
        echo "MailProg=/bin/true"
        for node in 1 2; do
            next_port
            echo "NodeName=node$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=2 State=UNKNOWN"
        done
        echo "PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP"
    } > "$1/slurm.conf"
}

nodes_ready() { [ "$(sinfo --noheader --Node --format=%T 2> /dev/null | grep -cx idle)" = 2 ]; }

start_cluster() {
    local node
    mkdir -p "$1/munge" "$1/state" "$1"/{spool,tmp}-node{1,2} && chmod 0755 "$1" && chmod 0700 "$1/munge" || return 1
    configure "$1"
    export SLURM_CONF=$1/slurm.conf
    (umask 077 && head -c 1024 /dev/urandom > "$1/munge/key") || return 1
    munged --foreground --force --key-file="$1/munge/key" --socket="$1/munge/socket" --pid-file="$1/munge/pid" \
        --log-file="$1/munge/log" --seed-file="$1/munge/seed" > "$1/munged.out" 2>&1 &
    daemons+=($!)
    wait_for 20 test -S "$1/munge/socket" || return 1
    slurmctld -D -f "$SLURM_CONF" > "$1/slurmctld.out" 2>&1 &
    daemons+=($!)
    for node in node1 node2; do
        slurmd -D -f "$SLURM_CONF" -N $node > "$1/$node.out" 2>&1 &
        daemons+=($!)
    done
    wait_for 60 nodes_ready
}

no_jobs() { [ -z "$(squeue --noheader 2> /dev/null)" ]; }

stop_cluster() {
    local i
    if [ ${#daemons[@]} -gt 1 ]; then
        squeue --noheader --format=%A 2> /dev/null | xargs -r scancel
        wait_for 40 no_jobs || echo "jobs live on: $(squeue --noheader)"
    fi
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
        kill -TERM "${daemons[i]}" 2> /dev/null
        wait "${daemons[i]}" 2> /dev/null
    done
    daemons=()
}
