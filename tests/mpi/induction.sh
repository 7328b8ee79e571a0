# The induction sweep does what its comments state beforehand, read from the stored file: every seed passes accuracy 0.9
# on determined tokens in under 1,000 steps, and less than half of its accuracy is left without the phase.
. "$(dirname "$0")/lib.sh"
sweep=$(dirname "$0")/../../sweeps/induction.yaml

(patience="timeout 540" && on 2 "$PESWEEP" run "$sweep" -o induction.h5) > out 2>&1 || { fail "the sweep:"; tail -n 30 out; }
expect 0 "$PESWEEP" verify induction.h5
for python in /usr/bin/python3 python3; do
    $python -c 'import h5py, numpy' 2> /dev/null || continue
    $python "$(dirname "$0")/../python/check_phase.py" induction.h5 > out 2>&1 || fail "without the phase:"
    cat out
    break
done
expect 0 "$PESWEEP" export induction.h5 --curves -o curves.csv
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { trial = $column["trial"]; variable = $column["variable"]; step = $column["step"]; value = $column["value"] }
    variable == "test_accuracy" { accuracy[trial] = value; if (value > 0.9 && !(trial in passed)) passed[trial] = step }
    variable == "phase_zeroing_drop" { drop[trial] = value }
    END {
        for (trial in accuracy) {
            n++
            left = accuracy[trial] - drop[trial]
            print "trial " trial ": above 0.9 at step " passed[trial] ", " accuracy[trial] " at the end, " left " without phase"
            if (!(trial in passed) || passed[trial] >= 1000 || accuracy[trial] <= 0.9 || !(trial in drop)) bad = 1
            if (left >= 0.5 * accuracy[trial]) bad = 1
        }
        exit bad || n != 2
    }' curves.csv > summary 2>&1 || fail "$(cat summary)"
cat summary
