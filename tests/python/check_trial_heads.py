#!/usr/bin/env python3
"""check_trial_heads.py RESULTS HEADS - spectra that a run stored of its trials, against those that `pesweep inspect`
finds in the exported weights of all trials in order: bit for bit the same, null draws included."""
import sys

import h5py
import numpy as np

results, heads = (h5py.File(path, "r") for path in sys.argv[1:3])
compared = 0
for group in ("spectra", "spectra_folded"):
    for name, values in heads[group].items():
        if name not in results[group] or values.ndim < 2:
            continue
        assert np.array_equal(values[:], results[group][name][:], equal_nan=True), (group, name)
        compared += 1
assert compared > 100, compared
assert list(heads["models/architecture"].asstr()) == ["pesweep"] * len(results["trials/key"])
print("ok")
