#!/usr/bin/env python3
"""check_phase.py RESULTS - rotary models whose accuracy collapses without the phase while their static M stays the same,
shown from the results file alone.

The score at distance D is sum_t x^T Re(M_t) y cos(w_t D) + x^T Im(M_t) y sin(w_t D).  Zeroing the phase drops the second
terms, so a model with it and one without have the same M = sum_t Re(M_t) at D = 0: the eigenvalues stored of W_q^T W_k
are those of the sum rebuilt from the real parts alone.
"""
import os
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices are small
import h5py
import numpy as np

results = h5py.File(sys.argv[1], "r")
trials, probes, spectra, weights = (results[name] for name in ("trials", "probes", "spectra", "weights"))
names, offsets = weights["tensor_name"].asstr()[:], weights["tensor_offset"][:]


def tensor(trial, name):
    (i,) = np.flatnonzero((names == name) & (weights["tensor_set"][:] == weights["parameter_set"][trial]))
    values = weights["values"][trial, offsets[i]:offsets[i] + weights["tensor_count"][i]].astype(float)
    return values.reshape(weights["tensor_shape"][i][:weights["tensor_rank"][i]])


for trial in range(len(trials["status"])):
    assert trials["status"][trial] == 2
    accuracy, drop = trials["test_accuracy"][trial], probes["phase_zeroing_all_drop"][trial]
    error = probes["phase_zeroing_all_drop_error"][trial]
    layers, heads, width, _ = spectra["eigenvalues"].shape[1:]
    moved = phase = 0.0
    for layer in range(layers):
        q, k = (tensor(trial, f"layers.{layer}.attn.w{side}") for side in "qk")
        for head in range(heads):
            rows = slice(head * width, (head + 1) * width)
            pairs = [np.outer(a[0] - 1j * a[1], b[0] + 1j * b[1])
                     for a, b in zip(q[rows].reshape(-1, 2, q.shape[1]), k[rows].reshape(-1, 2, k.shape[1]))]
            without = sum(m.real for m in pairs)  # what is left at every frequency when the phase is zeroed
            norms = np.array([[np.linalg.norm(m.real), np.linalg.norm(m.imag)] for m in pairs]).sum(0)
            phase = max(phase, norms[1] / norms.sum())
            assert abs(spectra["phase_fraction"][trial, layer, head] - norms[1] / norms.sum()) < 1e-9
            stored = spectra["eigenvalues"][trial, layer, head] @ [1, 1j]
            values = np.linalg.eigvals(without)
            scale = np.abs(stored).max()
            for one in stored:
                moved = max(moved, np.abs(values - one).min() / scale)
            rest = np.sort(np.abs(values))[:-width]
            assert rest.max(initial=0) < 1e-6 * scale
    print(f"trial {trial}: accuracy {accuracy:.3f}, {accuracy - drop:.3f} +- {error:.3f} without the phase; eigenvalues "
          f"of the static M differ by {moved:.1e} of the largest; up to {phase:.2f} of a head is phase")
    assert accuracy > 0.9 and drop > 0.5 * accuracy and drop > 10 * error and moved < 1e-7 and phase > 0.2
print("ok")
