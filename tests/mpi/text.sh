# The text task on text that every Debian machine has: files are looked at before anything starts, and other contents
# of the same path are noticed wherever trials would be mixed.
. "$(dirname "$0")/lib.sh"
source=/usr/share/common-licenses/GPL-2
[ -r "$source" ] || { echo "skipped: no $source"; exit 77; }
mkdir texts
cp "$source" texts/a
write() { # SEEDS
    cat > text.yaml <<EOF
name: text
task: {kind: text, path: texts, length: 32, test_samples: 64}
model: {layers: 1, d_model: 32, heads: 2, d_ff: 0, causal: true, pe: rope}
train: {steps: 200, batch: 16, lr: 5e-3}
grid: {seed: $1}
measure: {evaluate_every: 100, checkpoints: 2, attention_maps: 0, nulls: 0}
EOF
}

write 0..1
expect 0 on 2 "$PESWEEP" run text.yaml -o text.h5
expect 0 "$PESWEEP" export text.h5 --trials -o trials.csv
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    # Bytes of English text are worth about 3 nats each by their frequencies alone, ln 256 = 5.5 without them.
    { n++; if ($column["test_loss"] > 3.3 || !($column["data_hash"] > 0)) bad = 1; hash[$column["data_hash"]] }
    END { for (h in hash) k++; exit bad || n != 2 || k != 1 }' trials.csv || { fail "losses or hashes:"; cat trials.csv; }

# More seeds on other contents are refused, under the old name as under a new one; the old contents go on.
write 0..2
mv texts/a texts/b
echo "one line more" >> texts/b
expect 2 on 2 "$PESWEEP" run text.yaml -o text.h5 && said "other contents of task.path texts"
expect 1 "$PESWEEP" replay text.h5 --trial 1
cp "$source" texts/b
expect 0 on 2 "$PESWEEP" run text.yaml -o text.h5 && said "1 of 3 trials to train"
expect 0 "$PESWEEP" replay text.h5 --trial 1

# No text, or too little of it: nothing is started.
rm -r texts
expect 74 on 2 "$PESWEEP" run text.yaml -o none.h5 && said "No such file or directory"
mkdir texts
echo "too short" > texts/a
expect 2 on 2 "$PESWEEP" run text.yaml -o none.h5 && said "needs 33 of each"
[ ! -e none.h5 ] || fail "a results file was made for text that isn't there"
expect 0 "$PESWEEP" plan text.yaml
