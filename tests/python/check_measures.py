#!/usr/bin/env python3
"""check_measures.py RESULTS - every measure of a head that a run stored, recomputed from the stored weights of the
trained models by dense d x d matrices and their definitions alone.

For language models with stored weights, mean maps and nulls, on a task that looks at behaviours from a quarter of the
length on (random_map).  Prints what was compared.
"""
import os
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices are small
import h5py
import numpy as np

with h5py.File(sys.argv[1], "r") as file:  # all of it in memory: it is small
    results = {group: {name: data.asstr()[()] if h5py.check_string_dtype(data.dtype) else data[()]
                       for name, data in file[group].items()} for group in file}
weights, spectra = results["weights"], {False: results["spectra"], True: results["spectra_folded"]}
settings = dict(line.split("=", 1) for line in results["provenance"]["settings"].splitlines())
compared = {}
rng = np.random.default_rng(0)


def near(name, got, want, tolerance=1e-9, scale=None):
    """Largest difference over the largest value; NaN in the same places."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape, (name, got.shape, want.shape)
    assert np.array_equal(np.isnan(got), np.isnan(want)), (name, got, want)
    got, want = np.nan_to_num(got), np.nan_to_num(want)
    difference = np.abs(got - want).max() / (scale or np.abs(want).max() or 1)
    assert difference <= tolerance, (name, difference, got, want)
    compared[name] = max(compared.get(name, 0), difference)


def norm(x):
    return np.linalg.norm(x)


def in_order(values):
    """|lambda| down, then Re, then Im, with values that agree to 1e-9 counted as equal."""
    size = np.abs(values).max() or 1
    key = np.round(np.stack([-np.abs(values), -values.real, -values.imag]) / size, 9)
    return values[np.lexsort(key[::-1])]


def entropy_rank(singular):
    share = singular / singular.sum()
    share = share[share > 0]
    return np.exp(-(share * np.log(share)).sum())


def ratios(m, values):
    """Of eigenvalues and parts; `values` are the ones that can differ from 0."""
    s, a = (m + m.T) / 2, (m - m.T) / 2
    modulus = np.abs(values)
    of_s = np.linalg.eigvalsh(s)
    return dict(
        symmetry_score=(norm(s) ** 2 - norm(a) ** 2) / norm(m) ** 2,
        directional_fraction=norm(a) / norm(m),
        departure_from_normality=np.sqrt(max(norm(m) ** 2 - (modulus ** 2).sum(), 0)) / norm(m),
        rotational_fraction=np.abs(values.imag).sum() / modulus.sum(),
        rotational_energy=(values.imag ** 2).sum() / (modulus ** 2).sum(),
        positive_fraction=values.real.sum() / modulus.sum(),
        imaginary_mass=np.abs(values.imag).sum() / norm(m),
        content_positive_fraction=of_s[of_s > 0].sum() / np.abs(of_s).sum())


def largest(m, count):
    return in_order(in_order(np.linalg.eigvals(m))[:count])


def angles(a, b):
    """Principal angles between row spaces, in degrees."""
    qa, qb = np.linalg.qr(a.T)[0], np.linalg.qr(b.T)[0]
    cosines = np.linalg.svd(qa.T @ qb, compute_uv=False)
    sines = np.linalg.svd(qb - qa @ (qa.T @ qb), compute_uv=False)[::-1]
    return np.degrees(np.arctan2(sines, cosines))


def haar(rows, columns):
    q, r = np.linalg.qr(rng.standard_normal((columns, rows)))
    return q * np.sign(np.diag(r))


def check_null(name, mean, deviation, draws, samples):
    """Two samples of one distribution: means within six standard errors of each other."""
    own, spread = samples.mean(), samples.std(ddof=1)
    error = max(spread, deviation) * np.sqrt(1 / draws + 1 / len(samples))
    assert abs(mean - own) <= 6 * error + 1e-12, (name, mean, own, error)
    compared[name] = 0


class Model:
    def __init__(self, trial):
        self.trial = trial
        config = results["provenance"]["config"][trial].splitlines()
        self.config = dict(line.split("=", 1) for line in config)
        row, own = weights["values"][trial].astype(float), weights["parameter_set"][trial]
        self.tensors = {}
        for i in np.flatnonzero(weights["tensor_set"] == own):
            offset, count = weights["tensor_offset"][i], weights["tensor_count"][i]
            shape = weights["tensor_shape"][i][:weights["tensor_rank"][i]]
            self.tensors[weights["tensor_name"][i]] = row[offset:offset + count].reshape(shape)
        self.L, self.H = int(self.config["model.layers"]), int(self.config["model.heads"])
        self.C = int(self.config["model.d_model"])
        self.D = self.C // self.H
        self.T = int(self.config["task.length"])
        self.pe, self.mla = self.config["model.pe"], self.config["model.attention"] == "mla"
        heads = self.config["model.pe_heads"]
        self.acting = range(self.H) if heads == "all" else [int(h) for h in heads.strip("[]").split(",")]
        self.keys_fold = self.config["model.kv_source"] == "residual"
        self.centre = np.eye(self.C) - 1 / self.C

    def __getitem__(self, name):
        return self.tensors[name]

    def keys(self, layer, q):
        """W_k under the constraint; pairs of adjacent rows share a scale where there is one for each."""
        at, kind = f"layers.{layer}.attn.", self.config["model.symmetry"]
        if kind == "none":
            return self[at + "wk"]
        if kind == "psd":
            return q
        scale = self[at + "sym_scale"]
        scale = np.repeat(scale, len(q) // len(scale))[:, None]
        if kind == "symmetric":
            return scale * q
        turned = np.empty_like(q)  # J = [[0, 1], [-1, 0]] on each pair
        turned[0::2], turned[1::2] = q[1::2], -q[0::2]
        return scale * turned

    def head(self, layer, head):
        """W_q, W_k, W_V, W_O and the rotary rows of a head."""
        at, rows = f"layers.{layer}.attn.", slice(head * self.D, (head + 1) * self.D)
        wo = self[at + "wo"][:, rows]
        if not self.mla:
            q, k, v = self[at + "wq"], self.keys(layer, self[at + "wq"]), self[at + "wv"][rows]
            return q[rows], k[rows], v, wo, q[rows], k[rows]
        gain = [self.tensors.get(at + side + "_norm.weight", 1.0) for side in ("q", "kv")]
        q, k, v = (self[at + "w_u" + what][rows] * gain[what != "q"] @ self[at + ("w_dq" if what == "q" else "w_dkv")]
                   for what in "qkv")
        rope = len(self[at + "w_kr"])
        turned = self[at + "w_qr"][head * rope:(head + 1) * rope] * gain[0] @ self[at + "w_dq"]
        return q, k, v, wo, turned, self[at + "w_kr"]

    def folded(self, layer, matrix, reads=True):
        """Columns times the gain of the norm in front, then centred."""
        return matrix * self[f"layers.{layer}.norm1.weight"] @ self.centre if reads else matrix

    def frequencies(self, head, rows):
        turns = self.pe in ("rope", "xpos") and head in self.acting
        width = rows if turns else self.D
        return 10000.0 ** (-2 * np.arange(width // 2) / width)


def check_content(model, layer, head, folded, q, k):
    stored, at, m = spectra[folded], (model.trial, layer, head), q.T @ k
    scale = norm(q) * norm(k)
    values = largest(m, model.D)
    singular = np.linalg.svd(m, compute_uv=False)[:model.D]
    kept = stored["eigenvalues"][at]
    kept = kept[:, 0] + 1j * kept[:, 1]
    # Ties and neighbours in modulus may come in either order: as sets, then the order of what is stored.
    for one in values:
        assert np.abs(kept - one).min() <= 1e-9 * scale, (at, folded, one, kept)
    compared["eigenvalues"] = 0
    assert (np.diff(np.abs(kept)) <= 1e-9 * scale).all()
    near("singular_values", stored["singular_values"][at], singular, 1e-9, scale)
    assert stored["flags"][at] in (0, 64, 128), stored["flags"][at]
    wanted = ratios(m, kept if model.config["model.symmetry"] != "none" else values)
    none = not abs(wanted["content_positive_fraction"]) or model.config["model.symmetry"] == "antisymmetric"
    for name, value in wanted.items():
        if none and name == "content_positive_fraction":
            value = np.nan
        # A difference of squares has half the digits.
        near(name, stored[name][at], value, 1e-6 if name == "departure_from_normality" else 1e-8, 1)
    near("fro2", stored["fro2"][at], norm(m) ** 2)
    near("spectral_radius", stored["spectral_radius"][at], np.abs(values).max(), 1e-9, scale)
    near("effective_rank", stored["effective_rank"][at], entropy_rank(singular))
    found = angles(q, k)
    near("principal_angle_mean", stored["principal_angle_mean"][at], found.mean(), 1e-7, 1)
    near("principal_angle_max", stored["principal_angle_max"][at], found.max(), 1e-7, 1)
    core = np.linalg.qr(np.vstack([q, k]).T)[1]
    square = core[:, :model.D] @ core[:, model.D:].T
    vectors = np.linalg.eig(square[:model.D, :model.D])[1]
    near("eigenvector_condition", stored["eigenvector_condition"][at] / np.linalg.cond(vectors), 1.0, 1e-4)
    if folded or head:
        return
    draws = int(settings["measure.nulls"])
    samples = []
    for _ in range(40):
        drawn = haar(model.D, model.C) * singular @ haar(model.D, model.C).T
        samples.append(ratios(drawn, largest(drawn, model.D)))
    for name in wanted:
        mean, deviation = stored[name + "_null_mean"][at], stored[name + "_null_deviation"][at]
        check_null(name + "_null_mean", mean, deviation, draws, np.array([one[name] for one in samples]))
        z = (stored[name][at] - mean) / deviation
        near(name + "_z", stored[name + "_z"][at], z, 1e-12 if np.isfinite(z) else 0)


def check_phase(model, layer, head, folded, rq, rk):
    stored, at = spectra[folded], (model.trial, layer, head)
    w = model.frequencies(head, len(rq))
    norms = []
    for t in range(len(w)):
        m = np.outer(rq[2 * t] - 1j * rq[2 * t + 1], rk[2 * t] + 1j * rk[2 * t + 1])
        re, im = norm(m.real), norm(m.imag)
        norms.append((re, im))
        place, scale = at + (t,), re + im
        near("angular_frequency", stored["angular_frequency"][place], w[t], 1e-7)
        near("frequency_energy", stored["frequency_energy"][place], re ** 2 + im ** 2)
        near("phase_energy", stored["phase_energy"][place], im ** 2 / (re ** 2 + im ** 2), 1e-9, 1)
        turn = np.exp(1j * stored["phase_angle"][place]) * np.exp(-1j * np.angle(np.trace(m)))
        near("phase_angle", turn.imag, 0.0, 1e-8, 1)
        for part, matrix in (("real", m.real), ("imaginary", m.imag)):
            kept = np.array([stored[f"{part}_eigenvalue_{i}"][place] for i in (1, 2)])
            near(part + "_eigenvalues", np.sort_complex(kept[:, 0] + 1j * kept[:, 1]).real,
                 np.sort_complex(largest(matrix, 2)).real, 1e-7, scale)
            near(part + "_eigenvalues", np.abs(kept[:, 1]), np.abs(largest(matrix, 2).imag), 1e-7, scale)
    re, im = np.array(norms).T
    near("phase_fraction", stored["phase_fraction"][at], im.sum() / (re + im).sum())
    silent = im.sum() <= 1e-14 * (re + im).sum()
    near("frequency_centroid", stored["frequency_centroid"][at], np.nan if silent else (w * im).sum() / im.sum(), 1e-7)
    near("high_frequency_fraction", stored["high_frequency_fraction"][at],
         np.nan if silent else im[:max(1, len(w) // 2)].sum() / im.sum())


def output_matrix(model, layer, head, folded):
    _, _, v, wo, _, _ = model.head(layer, head)
    return model.centre @ wo @ model.folded(layer, v, model.keys_fold) if folded else wo @ v


def check_output(model, layer, head, folded):
    stored, at = spectra[folded], (model.trial, layer, head)
    o = output_matrix(model, layer, head, folded)
    values, singular = largest(o, model.D), np.linalg.svd(o, compute_uv=False)[:model.D]
    kept = stored["ov_eigenvalues"][at]
    for one in values:
        assert np.abs(kept[:, 0] + 1j * kept[:, 1] - one).min() <= 1e-9 * norm(o)
    compared["ov_eigenvalues"] = 0
    near("ov_singular_values", stored["ov_singular_values"][at], singular)
    for name, value in ratios(o, values).items():
        if "ov_" + name in stored:
            near("ov_" + name, stored["ov_" + name][at], value, 1e-8, 1)
    near("ov_fro2", stored["ov_fro2"][at], norm(o) ** 2)
    near("ov_effective_rank", stored["ov_effective_rank"][at], entropy_rank(singular))
    assert stored["ov_flags"][at] == 0
    embed, unembed = model["embed.tokens"], model["head.weight"]
    if folded:
        unembed = unembed * model["norm_f.weight"]
    circuit = unembed @ o @ embed.T  # from token to logit
    near("copying", stored["copying"][at], (largest(circuit, model.D).real > 0).sum() / model.D)


def excess(norms):
    return np.maximum(norms - norms.mean() - 2 * norms.std(ddof=1), 0).sum()


def check_layer(model, layer, folded, forms):
    m = sum(q.T @ k for q, k in forms)
    r, c = excess(np.linalg.norm(m, axis=1)), excess(np.linalg.norm(m, axis=0))
    stored, at = spectra[folded], (model.trial, layer)
    near("layer_symmetry", stored["layer_symmetry"][at], np.trace(m @ m) / norm(m) ** 2, 1e-9, 1)
    near("layer_directionality", stored["layer_directionality"][at], (r - c) / (r + c) if r + c else 0, 1e-7, 1)


def check_composition(model, forms):
    stored = spectra[True]["k_composition"][model.trial]
    for layer in range(model.L):
        for head in range(model.H):
            q, k = forms[layer][head]
            for earlier in range(model.L):
                for other in range(model.H):
                    want = np.nan
                    if earlier < layer and model.keys_fold:
                        m, o = q.T @ k, output_matrix(model, earlier, other, True)
                        want = norm(m @ o) / norm(m) / norm(o)
                    near("k_composition", stored[layer, head, earlier, other], want)


def bucket(offset, T):
    """T5's rule for key - query <= 0 (32 buckets, 128 at most)."""
    back = max(-offset, 0)
    if back < 16:
        return back
    return min(31, 16 + int(np.float32(np.log(np.float32(back) / 16)) / np.log(128 / 16) * 16))


def kernel_of(model, layer, head):
    """What the scheme alone puts into the scores, T x T; None: not checked here."""
    T, i = model.T, np.arange(model.T)
    offset = i[None, :] - i[:, None]
    if model.pe == "rope":
        rows = len(model.head(layer, head)[4])
        return np.cos(model.frequencies(head, rows)[:, None, None] * offset).mean(0)
    if model.pe == "learned":
        return model["embed.positions"] @ model["embed.positions"].T
    if model.pe == "sinusoidal":
        angle = i[:, None] * 10000.0 ** (-2 * np.arange(model.C // 2) / model.C)
        table = np.stack([np.sin(angle), np.cos(angle)], 2).reshape(T, model.C)
        return table @ table.T
    slopes = [2.0 ** -4, 2.0 ** -8, 2.0 ** -2]  # of three heads: two heads' powers of 2^-4, the first of four's
    if model.pe == "alibi":
        return -slopes[head] * np.abs(offset)
    if model.pe == "alibi_learned":
        return -slopes[head] * np.exp(model[f"layers.{layer}.attn.log_slope"][head]) * np.abs(offset)
    if model.pe == "relative":
        return model[f"layers.{layer}.attn.rel_bias"][offset + T - 1, head]
    if model.pe in ("t5", "t5_per_layer"):
        table = model["t5_bias" if model.pe == "t5" else f"layers.{layer}.attn.t5_bias"]
        return np.array([[table[bucket(o, T), head] for o in row] for row in offset])
    return None


def check_kernel(model, layer, head):
    stored, at = spectra[False], (model.trial, layer, head)
    kernel = kernel_of(model, layer, head) if head in model.acting or model.pe in ("learned", "sinusoidal") else np.nan
    if kernel is None:
        return
    names = [name for name in stored if name.startswith("kernel_")]
    if model.pe == "nope" or np.isnan(kernel).any():
        for name in names:
            assert np.isnan(stored[name][at]).all(), name
        return
    T, size = model.T, np.abs(kernel).max()
    diagonals = np.array([np.diagonal(kernel, o).mean() for o in range(1 - T, T)])
    near("kernel_diagonals", stored["kernel_diagonals"][at], diagonals, 1e-5, size)
    counts = T - np.abs(np.arange(1 - T, T))
    near("kernel_toeplitz_fraction", stored["kernel_toeplitz_fraction"][at],
         (counts * diagonals ** 2).sum() / norm(kernel) ** 2, 1e-5)
    values = np.linalg.eigvalsh((kernel + kernel.T) / 2)
    near("kernel_eigenvalue_min", stored["kernel_eigenvalue_min"][at], values[0], 1e-5, T * size)
    near("kernel_eigenvalue_max", stored["kernel_eigenvalue_max"][at], values[-1], 1e-5, T * size)
    a = (diagonals[T - 1:] + diagonals[T - 1::-1]) / 2
    theta = np.linspace(0, np.pi, 4001)
    symbol = a[0] + 2 * sum(a[k] * np.cos(k * theta) for k in range(1, T))
    near("kernel_symbol_min", stored["kernel_symbol_min"][at], symbol.min(), 1e-4, np.abs(symbol).max())
    near("kernel_symbol_max", stored["kernel_symbol_max"][at], symbol.max(), 1e-4, np.abs(symbol).max())
    near("kernel_eigenvalues", stored["kernel_eigenvalues"][at], values, 1e-5, T * size)
    sampled = a[0] + 2 * sum(a[k] * np.cos(k * np.pi * np.arange(1, T + 1) / (T + 1)) for k in range(1, T))
    near("kernel_szego_distance", stored["kernel_szego_distance"][at],
         np.abs(values - np.sort(sampled)).mean() / np.ptp(symbol), 1e-4, 1)


def check_scores(model, layer, head):
    """From the stored mean maps, which are float32."""
    at, attention, probes = (model.trial, layer, head), results["attention"], results["probes"]
    scores, T = attention["scores"][at].astype(float), model.T
    size = np.abs(scores).max()
    causal = model.config["model.causal"] == "true"
    visible = np.tril(np.ones((T, T))) if causal else np.ones((T, T))
    for name, matrix in (("toeplitz_fraction", scores),
                         ("toeplitz_fraction_centred",
                          scores - (scores * visible).sum(1, keepdims=True) / visible.sum(1, keepdims=True))):
        kept = sum(np.diagonal(matrix, o).sum() ** 2 / (T - abs(o)) for o in range(1 - T, 1 if causal else T))
        near(name, probes[name][at], kept / norm(matrix * visible) ** 2, 1e-5, 1)
    diagonals = [np.diagonal(scores, o).mean() if o <= 0 or not causal else np.nan for o in range(1 - T, T)]
    near("score_diagonals", attention["score_diagonals"][at], diagonals, 1e-6, size)
    first = T // 4
    want = [np.mean([scores[i, i + o] for i in range(max(first, -o), T)]) for o in range(-8, 1)]
    near("relative_kernel", probes["relative_kernel"][at], want, 1e-6, size)
    centred = scores - scores.mean(1, keepdims=True)
    values = np.linalg.eigvalsh((centred + centred.T) / 2)
    near("score_eigenvalues", attention["score_eigenvalues"][at], values, 1e-5, np.abs(values).max())
    near("mean_score_spread", probes["mean_score_spread"][at], np.ptp(values), 1e-5)
    wanted = np.abs(values).max() / np.abs(values).min()
    near("mean_score_condition", probes["mean_score_condition"][at] / wanted, 1.0, 1e-2)
    attention_map = attention["map"][at].astype(float)
    near("attention_map", attention_map.sum(1), np.ones(T), 1e-5)
    back = np.abs(np.arange(T)[:, None] - np.arange(T))
    queries = range(first, T)
    near("previous_token_score", probes["previous_token_score"][at],
         np.mean([attention_map[i, i - 1] for i in queries]), 1e-5, 1)
    near("previous_token_excess", probes["previous_token_excess"][at],
         np.mean([attention_map[i, i - 1] - 1 / (i + 1) for i in queries]), 1e-5, 1)
    near("first_token_score", probes["first_token_score"][at],
         np.mean([attention_map[i, 0] for i in queries]), 1e-5, 1)
    near("attention_distance", probes["attention_distance"][at],
         np.mean([(attention_map[i] * back[i]).sum() for i in queries]), 1e-5, T)


def onset(steps, values):
    final = values[-3:].mean()
    if len(values) < 4 or not np.isfinite(values).all() or abs(final - values[0]) < 0.1:
        return np.nan
    half = values[0] + (final - values[0]) / 2
    beyond = np.sign(final - values[0]) * (values - half) > 0
    if not beyond[-1]:
        return np.nan
    first = len(values) - np.argmin(beyond[::-1]) if not beyond.all() else 0
    share = (half - values[first - 1]) / (values[first] - values[first - 1])
    return steps[first - 1] + share * (steps[first] - steps[first - 1])


def check_curves(model):
    """The last checkpoint is the trained model; onsets, lags, deposits and percentiles follow from what is stored."""
    trial, curves, probes = model.trial, results["curves"], results["probes"]
    steps = curves["checkpoint_step"][trial].astype(float)
    assert steps[-1] == results["trials"]["steps"][trial]
    for folded in (False, True):
        for name, final in spectra[folded].items():
            curve = ("folded_" if folded else "") + name
            trained = model.pe not in ("nope", "sinusoidal", "alibi", "rope", "xpos")
            if name.startswith("kernel_") and not trained:
                continue
            if curve in curves and final.ndim == curves[curve].ndim - 1 and final.ndim > 1:
                near("curves/" + curve, curves[curve][trial, -1], final[trial].astype(np.float32), 1e-6)
    # Over the same sequences at the last checkpoint and at the end.
    assert settings["measure.probe_sequences"] == settings["measure.attention_maps"]
    for name in ("toeplitz_fraction", "toeplitz_fraction_centred", "mean_score_spread", "relative_kernel", "contraction",
                 "score_spread", "content_score_spread", "previous_token_score", "attention_entropy"):
        near("curves/" + name, curves[name][trial, -1], probes[name][trial], 1e-6)
    for name in [n for n in probes if n.startswith("onset_")]:
        curve = curves[name[6:]][trial].astype(float)
        for at in np.ndindex(model.L, model.H):
            near(name, probes[name][trial][at], onset(steps, curve[(slice(None), *at)]), 1e-9)
    for name in [n for n in probes if n.startswith("lag_")]:
        signature, behaviour = name[4:].split("_behind_")
        near(name, probes[name][trial], probes["onset_" + signature][trial] - probes["onset_" + behaviour][trial], 1e-12)
    for layer in range(model.L):
        drops, errors = probes["ablation_drop"][trial, layer], probes["ablation_drop_error"][trial, layer]
        most, positive, n = drops.argmax(), np.maximum(drops, 0), model.H
        want = [np.nan] * 4
        if drops[most] >= max(0.01, 3 * errors[most]):
            shares = positive / positive.sum()
            gini = np.abs(shares[:, None] - shares).sum() / (2 * n)
            acting = [h for h in model.acting] if model.pe != "nope" else []
            want = [shares.max(), gini, ((shares ** 2).sum() - 1 / n) / (1 - 1 / n), None]
            want[3] = shares[list(acting)].sum()
        for name, value in zip(("share", "gini", "herfindahl"), want):
            near("deposit_" + name, probes["deposit_" + name][trial, layer], value, 1e-12)
        if model.pe != "nope":
            near("deposit_rotated_share", probes["deposit_rotated_share"][trial, layer], want[3], 1e-12)
    for folded in (False, True):
        for name in [n for n in spectra[folded] if n.endswith("_percentile")]:
            values = spectra[folded][name[:-len("_percentile")]][trial].ravel()
            want = [np.nan if np.isnan(v) else (values <= v).sum() / np.isfinite(values).sum() for v in values]
            near(name, spectra[folded][name][trial].ravel(), want, 1e-12)


for trial in np.flatnonzero(results["trials"]["status"] == 2):
    model = Model(trial)
    forms = {False: {}, True: {}}
    for layer in range(model.L):
        for folded in (False, True):
            forms[folded][layer] = []
            for head in range(model.H):
                q, k, v, wo, rq, rk = model.head(layer, head)
                if folded:
                    q, rq = model.folded(layer, q), model.folded(layer, rq)
                    k, rk = (model.folded(layer, x, model.keys_fold) for x in (k, rk))
                if not (model.pe in ("rope", "xpos") and head in model.acting and model.mla):
                    rq, rk = (q, k) if not model.mla or head not in model.acting else (rq, rk)
                forms[folded][layer].append((q, k))
                check_content(model, layer, head, folded, q, k)
                check_phase(model, layer, head, folded, rq, rk)
                check_output(model, layer, head, folded)
                if not folded:
                    check_kernel(model, layer, head)
                    check_scores(model, layer, head)
            check_layer(model, layer, folded, forms[folded][layer])
    check_composition(model, forms[True])
    check_curves(model)
print(len(compared), "measures of", len(results["trials"]["status"]), "trials agree:", " ".join(sorted(compared)))
