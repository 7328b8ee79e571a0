#!/usr/bin/env bash
# run.sh [RUNS [TARGET...]] - feeds the fuzz targets with mutations of their corpora (default: a million each).
#
#   tests/fuzz/run.sh 1000000 sweep
#
# Targets: sweep (sweep files), safetensors, json (config.json, index of shards), gguf, results (damaged results
# files).  What a target can't take is left in build/fuzz/found and makes the exit code 1; put it into corpus/<target>
# under a name that says what it is once it is mended, so that every later test replays it.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-1000000}
[[ $runs =~ ^[0-9]+$ ]] || { echo "run.sh: '$runs' isn't a number of runs" >&2; exit 2; }
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(sweep safetensors json gguf results)
cmake --preset fuzz > /dev/null
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}" > /dev/null
mkdir -p build/fuzz/found
# HDF5's own leaks on damaged files aren't ours; stacks of allocations would take most of the time.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=16
code=0
# The timeout is one of the clock, not of the processor: a busy machine takes its time.
for target in "${targets[@]}"; do
    mkdir -p build/fuzz/corpus/"$target"
    seeds=(tests/fuzz/corpus/"$target")
    options=(-max_len=2048)
    [ "$target" != sweep ] || seeds+=(tests/inputs/bad)
    [ "$target" != results ] || options=(-max_len=300 -detect_leaks=0)
    log=build/fuzz/$target.log
    if build/fuzz/tests/fuzz/fuzz_"$target" -runs="$runs" -timeout=600 -rss_limit_mb=2500 "${options[@]}" \
        -print_final_stats=1 -artifact_prefix=build/fuzz/found/"$target"- build/fuzz/corpus/"$target" "${seeds[@]}" \
        > "$log" 2>&1; then
        sed -n "s/^stat::number_of_executed_units: *\(.*\)/$target: \1 runs, nothing found/p" "$log"
    else
        echo "$target: see $log"
        grep -m 5 -E 'ERROR|SUMMARY|runtime error|Test unit written' "$log" || tail -n 5 "$log"
        code=1
    fi
done
exit $code
