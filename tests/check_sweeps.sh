#!/usr/bin/env bash
# check_sweeps.sh PESWEEP - every sweep file plans without a fault; a *-laptop.yaml takes at most half an hour on two cores by
# the plan's estimate, has at least 8 seeds, and a *-cluster.yaml of the same claims beside it.
set -uo pipefail
pesweep=$(realpath "$1")
cd "$(dirname "$0")/../sweeps" || exit 1

bad=0
complain() {
    echo "$1"
    bad=1
}
plan=$(mktemp)
trap 'rm "$plan"' EXIT
for sweep in *.yaml; do
    name=${sweep%.yaml}
    "$pesweep" plan "$sweep" --ranks 2 --json >"$plan" || { complain "$sweep can't be planned"; continue; }
    grep -qF "\"name\": \"$name\"" "$plan" || complain "$sweep: its name is another one"
    grep -qE "^# $name.yaml - " "$sweep" || complain "$sweep doesn't say what it is for"
    [[ $name = *-laptop ]] || continue
    seconds=$(sed -nE 's/^  "seconds": ([0-9]+).*/\1/p' "$plan" | head -n 1)
    [ "${seconds:-9999}" -le 1800 ] || complain "$sweep takes $seconds s on two cores"
    range=$(sed -nE 's/^  seed: ([0-9]+)\.\.([0-9]+)$/\2 - \1 + 1/p' "$sweep")
    [ $((range)) -ge 8 ] || complain "$sweep has fewer than 8 seeds"
    cluster=${name%-laptop}-cluster.yaml
    [ -e "$cluster" ] || { complain "$cluster is missing"; continue; }
    claims() { grep -oE '\{name: [a-z0-9-]+' "$1"; }
    [ "$(claims "$sweep")" = "$(claims "$cluster")" ] || complain "$sweep and $cluster claim different things"
done
exit $bad
