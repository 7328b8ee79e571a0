#!/usr/bin/env bash
# bench_scheduler.sh - the scheduler measured and simulated; one line of JSON each.
#
#     tests/bench/bench_scheduler.sh [build/release]
#
# Empty trials on 2 to 64 ranks that share the cores there are; trials that sleep, their lengths spread 20-fold, 20 a
# rank; and 10,000 ranks with 1,000,000 trials through the same policy, each trial paying the overhead that was measured
# and each idle rank the time in which rank 0 looks for messages.
set -euo pipefail
program=${1:-build/release}/tests/bench/bench_scheduler
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run() { mpirun -n "$@" --folder "$folder" 2> >(grep -v 'take turns' >&2); }
value() { sed -E 's/.*"'"$1"'": ([-0-9.e+]+).*/\1/'; }

for ranks in 2 4 8 16 32 64; do
    run "$ranks" "$program"
done
spread=$(run 8 "$program" --trials 160 --seconds 0.25)
echo "$spread"
"$program" --simulate 10000 --trials 1000000 --seconds 60 --latency 0.01 \
    --overhead "$(value overhead_per_trial <<< "$spread")"
