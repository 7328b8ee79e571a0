# From sweep file to verdict: two claims, cut to a few seeds, still point the way that was recorded.
. "$(dirname "$0")/lib.sh"
sweeps=$(dirname "$0")/../../sweeps

# effect_of CLAIM CLAIMS.csv: texts in quotes, which hold commas, are taken out first.
effect_of() {
    sed 's/"[^"]*"//g' "$2" | awk -F, -v claim="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $1 == claim { print $column["effect"] }'
}

# points SWEEP SEEDS CLAIM: its effect, with these seeds alone, has the sign of the recorded one.
points() {
    sed "s/^  seed: .*/  seed: $2/" "$sweeps/$1.yaml" > "$1.yaml"
    expect 0 on 2 "$PESWEEP" run "$1.yaml" -o "$1.h5" || return
    expect 0 "$PESWEEP" analyze "$1.h5" -o "$1" --no-figures || return
    local now recorded
    now=$(effect_of "$3" "$1/tables/claims.csv")
    recorded=$(effect_of "$3" "$sweeps/results/$1/claims.csv")
    awk -v now="$now" -v recorded="$recorded" 'BEGIN { exit !(now * recorded > 0) }' ||
        fail "$1: the effect of $3 is '$now', recorded is '$recorded'"
}

points b2-phase-laptop 0..1 zeroing-it-costs
points b5-symmetric-part-laptop 0..1 under-rope-too-by-difference
