#!/usr/bin/env bash
# results.sh [--check] - writes RESULTS.md from results/: the verdicts and run.txt as record.sh left them, notes.md as
# somebody wrote it. So no number stands there that isn't in a file. --check: is RESULTS.md up to date?
set -euo pipefail
cd "$(dirname "$0")"

fact() { sed -n "s/^$2: //p" "results/$1/run.txt"; }

# The columns wanted hold no commas; those in quotes do, and are taken out first.
verdicts() {
    echo "| claim | verdict | effect, 95 % interval | p | corrected | n | test |"
    echo "|---|---|---|---|---|---|---|"
    sed 's/"[^"]*"//g' "$1" | awk -F, '
        function short(x) { return x == "" ? "-" : sprintf("%.4g", x) }
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        {
            effect = short($column["effect"])
            if ($column["effect_kind"] ~ /^ratio/) effect = "ratio " effect
            if ($column["bound"] != "") effect = $column["bound"] " " effect
            if ($column["low"] != "") effect = effect " [" short($column["low"]) ", " short($column["high"]) "]"
            n = $column["n"] == $column["n_other"] ? $column["n"] : $column["n"] " and " $column["n_other"]
            test = $column["test"]
            gsub("_", " ", test)
            p = $column["p"] == "" ? "-" : sprintf("%.2g", $column["p"])
            corrected = $column["p_corrected"] == "" ? "-" : sprintf("%.2g", $column["p_corrected"])
            printf "| `%s` | **%s** | %s | %s | %s | %s | %s |\n",
                $1, $column["verdict"], effect, p, corrected, n, test
        }'
}

section() {
    local name=$1 figure title notes=results/$1/notes.md
    if [ -e "$notes" ]; then title=$(head -n 1 "$notes"); else title="$name"; fi
    printf '\n## %s\n\n' "$title"
    [ ! -e "results/$name/claims.csv" ] || verdicts "results/$name/claims.csv"
    if [ -e "$notes" ]; then tail -n +2 "$notes"; fi
    printf '\nTrials: %s. [Sweep](%s.yaml): SHA-256 `%s`.\n' "$(fact "$name" trials)" "$name" \
        "$(fact "$name" "sweep file, SHA-256")"
    printf 'Latest run: %s; program %s.\n' "$(fact "$name" run)" "$(fact "$name" program)"
    printf 'Results file: SHA-256 `%s`.\n' "$(fact "$name" "results file, SHA-256")"
    if [ -e "results/$name/claims.csv" ]; then
        printf '[Value of each trial](results/%s/claim_values.csv), ' "$name"
    else
        printf '[Groups](results/%s/groups.csv), ' "$name"
    fi
    printf '[trials](results/%s/trials.csv).' "$name"
    for figure in results/"$name"/*.svg; do
        if [ -e "$figure" ]; then printf ' [Figure: %s](%s).' "$(basename "$figure" .svg)" "$figure"; fi
    done
    printf '\n'
}

write() {
    cat results/head.md
    for run in results/*/run.txt; do
        section "$(basename "$(dirname "$run")")"
    done
    printf '\n## Not run yet\n\n'
    printf 'None of the cluster sizes (`*-cluster.yaml`) has been run. Of the others these have not:\n\n'
    local sweep name
    for sweep in *.yaml; do
        name=${sweep%.yaml}
        case $name in *-cluster | pilot-* | quick | induction) continue ;; esac
        [ -e "results/$name/run.txt" ] || printf -- '- [%s](%s)\n' "$sweep" "$sweep"
    done
}

if [ "${1:-}" = --check ]; then
    write | diff RESULTS.md - || { echo "RESULTS.md is behind results/: sweeps/results.sh"; exit 1; }
else
    written=$(write)
    printf '%s\n' "$written" >RESULTS.md
fi
