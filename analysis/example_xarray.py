"""A results file in xarray: python3 analysis/example_xarray.py results.h5

Needs xarray with h5netcdf or netCDF4.  Every group of the file is a dataset with named dimensions; `status` says which
trials to believe (2 done, 4 diverged).
"""
import sys

import numpy as np
import xarray as xr

path = sys.argv[1]
trials = xr.open_dataset(path, group="trials")
done = trials["status"].values == 2
print(f"{done.sum()} of {done.size} trials are done")

# Mean test accuracy by positional scheme (or by whatever the first axis is).
axis = "pe" if "pe" in trials else next(name for name in trials if name not in ("key", "status", "reason"))
table = trials[["test_accuracy", axis]].isel(trial=np.flatnonzero(done))
print(table["test_accuracy"].groupby(table[axis]).mean().to_series().to_string())

# Accuracy curves: mean over the finished trials at every evaluation.
curves = xr.open_dataset(path, group="curves").isel(trial=np.flatnonzero(done))
print(curves["test_accuracy"].mean("trial").values.round(3))

# The head with the largest share of imaginary eigenvalues in each trial.
try:
    fraction = xr.open_dataset(path, group="spectra_folded")["rotational_fraction"].isel(trial=np.flatnonzero(done))
    best = fraction.fillna(-1).argmax(["layer", "head"])
    print("layers:", best["layer"].values, "heads:", best["head"].values)
except (KeyError, OSError):
    print("spectra weren't measured")
