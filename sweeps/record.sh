#!/usr/bin/env bash
# record.sh RESULTS.h5 [FIGURE...] - keeps what a claim's verdict rests on in sweeps/results/<sweep>/: the verdicts, the
# value of each trial, the figure of these and others named, and in run.txt the run and the hashes; of a sweep without
# claims the table of its groups instead of verdicts. PESWEEP names the program.
set -euo pipefail
results=${1:?record.sh RESULTS.h5 [FIGURE...]}
shift
pesweep=${PESWEEP:-build/release/pesweep}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

"$pesweep" verify "$results" >/dev/null
"$pesweep" analyze "$results" -o "$work/report" --json >"$work/report.json"
"$pesweep" status "$results" --json >"$work/status.json"
fact() { sed -nE "s/^ *\"$2\": \"?([^\",]*)\"?,?$/\1/p" "$work/$1.json" | head -n 1; }

name=$(fact report name)
folder=$(dirname "$0")/results/$name
mkdir -p "$folder"
cp "$work/report/tables/trials.csv" "$folder/"
if [ "$(wc -l <"$work/report/tables/claims.csv")" -gt 1 ]; then
    cp "$work/report/tables/"{claims,claim_values}.csv "$folder/"
    set -- claims "$@"
else
    cp "$work/report/tables/groups.csv" "$folder/"
fi
for figure in "$@"; do
    cp "$work/report/figures/$figure.svg" "$folder/"
done
{
    echo "sweep: $name"
    echo "sweep file, SHA-256: $(sha256sum "$(dirname "$0")/$name.yaml" | cut -d ' ' -f 1)"
    echo "results file, SHA-256: $(sha256sum "$results" | cut -d ' ' -f 1)"
    echo "program: $(fact status pesweep)"
    echo "trials: $(fact report trials), done $(fact report done), diverged $(fact report diverged), failed $(fact report failed)"
    echo "run: $(fact status started) to $(fact status ended), $(fact status ranks) ranks x $(fact status threads_per_rank) threads"
    echo "processor: $(fact status cpu), $(fact status isa) kernels"
} >"$folder/run.txt"
cat "$folder/run.txt"
