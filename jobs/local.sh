#!/usr/bin/env bash
# local.sh - the whole way on one machine: installs what is missing, builds, runs a sweep on all cores.
#
#   jobs/local.sh [SWEEP [RESULTS]]     default: sweeps/quick.yaml, results in results/<name>.h5
#
# The same command again goes on where it stopped. RANKS=n sets the number of ranks (default: all cores).
set -euo pipefail
cd "$(dirname "$0")/.."

sweep=${1:-sweeps/quick.yaml}
results=${2:-results/$(basename "${sweep%.yaml}").h5}
jobs/setup.sh
cmake --preset release -DPES_TESTS=OFF >/dev/null
cmake --build --preset release
mkdir -p "$(dirname "$results")"

ranks=${RANKS:-$(nproc)}
launcher=(mpirun -n "$ranks")
# Open MPI refuses to start as root unless told that it may, as in a container.
[ "$(id -u)" -eq 0 ] && launcher+=(--allow-run-as-root)
"${launcher[@]}" build/release/pesweep run "$sweep" -o "$results"

echo
echo "Results: $results"
echo "Look at them:   build/release/pesweep status $results"
echo "Report:         build/release/pesweep analyze $results -o ${results%.h5}-report"
echo "In Python:      xarray.open_dataset('$results', group='curves')"
