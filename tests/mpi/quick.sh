# The quick sweep as a newcomer runs it: every scheme's test accuracy within the range its comments state beforehand.
. "$(dirname "$0")/lib.sh"
sweep=$(dirname "$0")/../../sweeps/quick.yaml

(patience="timeout 540" && on 2 "$PESWEEP" run "$sweep" -o quick.h5) > out 2>&1 || { fail "the quick sweep:"; tail -n 30 out; }
expect 0 "$PESWEEP" verify quick.h5
expect 0 "$PESWEEP" export quick.h5 --trials -o trials.csv

# Lines "#   <scheme>   <low> .. <high>" of the sweep file.
ranges=$(sed -nE 's/^# +([a-z0-9_]+) +([01][0-9.]*) +\.\. +([01][0-9.]*) .*/\1 \2 \3/p' "$sweep")
[ "$(echo "$ranges" | wc -l)" = 4 ] || fail "the quick sweep states no range for each of its four schemes"
while read -r scheme low high; do
    awk -F, -v scheme="$scheme" -v low="$low" -v high="$high" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["pe"] == scheme {
            n++
            accuracy = $column["test_accuracy"]
            if (accuracy < low || accuracy > high) { print scheme ": " accuracy " is not in " low " .. " high; bad = 1 }
        }
        END { if (n != 2) { print scheme ": " n + 0 " trials, not 2"; bad = 1 } exit bad }' trials.csv > out 2>&1 ||
        fail "$(cat out)"
done <<< "$ranges"
