# Every measure of a head, recomputed by h5py and numpy from the weights that a run stored of its trained models: each
# positional scheme, each constraint, latent attention, keys of the embedding.
. "$(dirname "$0")/lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)

python=
for name in /usr/bin/python3 python3; do
    if [ -z "$python" ] && $name -c 'import h5py, numpy' 2> /dev/null; then python=$name; fi
done
[ -n "$python" ] || { echo "skipped: there is no Python with h5py"; exit 0; }

cat > measures.yaml <<- END
	name: measures
	task: {kind: random_map, vocab: 16, length: 24, test_samples: 64}
	model: {layers: 2, d_model: 24, heads: 3, d_ff: 32, causal: true}
	train: {steps: 60, batch: 16, lr: 5e-3}
	grid:
	  pe: [nope, sinusoidal, learned, relative, t5, t5_per_layer, alibi, alibi_learned, kerple, fire, shaw, rope, xpos]
	  pe_heads: [[0, 2]]
	include:
	  - {pe: rope, symmetry: psd}
	  - {pe: rope, symmetry: symmetric}
	  - {pe: alibi, symmetry: antisymmetric}
	  - {pe: rope, pe_heads: all, model.attention: mla, d_rope: 4, d_latent: 8, latent_norm: true}
	  - {pe: rope, kv_source: embedding}
	measure: {checkpoints: 5, evaluate_every: 30, nulls: 40, probe_sequences: 32, attention_maps: 32}
END
expect 0 on 2 "$PESWEEP" run measures.yaml -o measures.h5
$python "$tests/python/check_measures.py" measures.h5 > out 2>&1 || { fail "measures:"; tail -n 20 out; }
grep -q '^1[0-9][0-9] measures of 18 trials agree' out || fail "too little was compared: $(cut -c -80 out)"
