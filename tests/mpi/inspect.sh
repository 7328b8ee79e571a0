#!/usr/bin/env bash
# Heads of checkpoints: the same file on any number of ranks, the spectra of a run's own trials, what is refused.
. "$(dirname "$0")/lib.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
fixtures=$tests/fixtures

python=
for name in /usr/bin/python3 python3; do
    if [ -z "$python" ] && $name -c 'import h5py, xarray, h5netcdf, netCDF4' 2> /dev/null; then python=$name; fi
done

three="$fixtures/gpt2 $fixtures/llama $fixtures/deepseek-v2"
expect 0 on 0 "$PESWEEP" inspect $three -o bare.h5 --nulls 3
said "deepseek_v2, mla positions, 2 layers of 4 heads"
if [ -n "$python" ]; then
    $python "$tests/python/check_heads.py" bare.h5 "$fixtures" > out 2>&1 || { fail "h5py, xarray, numpy:"; cat out; }
fi
for ranks in 2 3; do
    expect 0 on $ranks "$PESWEEP" inspect -q $three -o ranks$ranks.h5 --nulls 3
    cmp bare.h5 ranks$ranks.h5 || fail "$ranks ranks write another file"
done
everything="--nulls 2 --composition --intervene --segment 6 --sequences 2"
expect 0 on 0 "$PESWEEP" inspect -q "$fixtures/gpt2-lm" "$fixtures/llama" -o all.h5 $everything
expect 0 on 3 "$PESWEEP" inspect -q "$fixtures/gpt2-lm" "$fixtures/llama" -o all3.h5 $everything
cmp all.h5 all3.h5 || fail "3 ranks find other compositions, behaviours or interventions"
expect 0 "$PESWEEP" inspect "$fixtures/gpt2-lm" "$fixtures/llama" --json --behaviour --segment 6 --nulls 0
said '"folded_rotational_fraction"' && said '"induction_score"' && said '"rotary_models": 1'

# The weights of a run's trials have the spectra that the run stored.
cat > own.yaml <<- END
	name: own
	task: {kind: induction, vocab: 16, length: 24, period: 10, test_samples: 16}
	model: {layers: 2, d_model: 16, heads: 2, d_ff: 0, causal: true}
	train: {steps: 20, batch: 8}
	store: {weights: final}
	measure: {nulls: 4}
	grid:
	  symmetry: [none, symmetric]
	  pe: [rope, alibi]
	include:
	  - {pe: rope, model.attention: mla, d_rope: 4, d_latent: 8}
END
expect 0 on 2 "$PESWEEP" run own.yaml -o own.h5
for trial in 0 1 2 3 4; do
    expect 0 "$PESWEEP" export own.h5 --trial $trial -o trial$trial.safetensors
done
expect 0 on 0 "$PESWEEP" inspect trial?.safetensors -o trials.h5 --nulls 4 --composition
if [ -n "$python" ]; then
    $python "$tests/python/check_trial_heads.py" own.h5 trials.h5 > out 2>&1 || { fail "spectra of trials:"; cat out; }
fi

expect 0 "$PESWEEP" inspect --list && said "deepseek_v2 deepseek_v3"

# One word of an error, one exit code; nothing is written.
expect 2 "$PESWEEP" inspect "$fixtures/bert" -o none.h5 --behaviour && said "no forward pass"
expect 2 on 2 "$PESWEEP" inspect "$fixtures/nothing" -o none.h5 && said "No such file"
expect 2 "$PESWEEP" inspect "$fixtures/gpt2" --nulls -1 && said "from 0 to"
[ ! -e none.h5 ] && [ ! -e none.h5.part ] || fail "a refused model left a file"
expect 2 "$PESWEEP" inspect && said "needs one checkpoint or more"
expect 2 "$PESWEEP" status bare.h5
