#!/usr/bin/env python3
"""xarray_example.py RESULTS.h5 [FIGURE] - from a results file to tables, spectra and a figure, in a few lines of xarray.

Needs xarray with h5netcdf (Debian: python3-xarray python3-h5netcdf), for a figure matplotlib (python3-matplotlib).  Every group is a data set of its own;
`trial` has the same numbers in all of them, so swept values from /trials can be joined to any variable.
"""
import sys

import numpy as np
import xarray as xr


def open_results(path):
    """All groups by name; swept values and outcome as coordinates of `trial` in each."""
    trials = xr.open_dataset(path, group="trials", engine="h5netcdf")
    joined = [name for name in trials.data_vars if name == "status" or "swept_key" in trials[name].attrs]
    coordinates = {name: trials[name].load() for name in joined}
    groups = {"trials": trials.assign_coords(coordinates)}
    for name in ("curves", "spectra", "spectra_folded", "attention", "probes", "weights"):
        try:
            groups[name] = xr.open_dataset(path, group=name, engine="h5netcdf").assign_coords(coordinates)
        except (OSError, KeyError):
            continue  # not measured in this sweep
    return groups


def finished(data):
    """Trials that came to their end (status 2, done)."""
    return data.isel(trial=(data["status"] == 2).values)


def draw(curves, figure):
    """Mean test accuracy of each scheme over the steps, a thin line for every trial."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    plot, axes = pyplot.subplots(figsize=(6, 4))
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#882255"]
    steps = curves["evaluation_step"].isel(trial=0)
    for colour, (scheme, group) in zip(colours * 4, curves["test_accuracy"].groupby("pe")):
        axes.plot(steps, group.transpose("evaluation", "trial"), color=colour, alpha=0.3, linewidth=0.7)
        axes.plot(steps, group.mean("trial"), color=colour, label=f"{scheme} (n = {group.sizes['trial']})")
    axes.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.02))
    axes.legend(frameon=False)
    plot.savefig(figure)
    print("\nfigure:", figure)


def main(path, figure=None):
    results = open_results(path)
    trials = finished(results["trials"])
    print(f"{trials.sizes['trial']} finished trials of {results['trials'].sizes['trial']}")

    # Final accuracy by positional scheme: mean and deviation over seeds and whatever else was swept.
    if "pe" in trials.coords:
        by_scheme = trials["test_accuracy"].groupby("pe")
        table = xr.Dataset({"mean": by_scheme.mean(), "deviation": by_scheme.std(ddof=1), "trials": by_scheme.count()})
        print(table.to_dataframe().to_string())

    # The learning curve of one trial, over optimizer steps.
    curves = finished(results["curves"])
    first = curves.isel(trial=0)
    curve = xr.DataArray(first["test_accuracy"].values, dims="step", coords={"step": first["evaluation_step"].values})
    print("\ntest accuracy of trial", int(first["trial"]))
    print(curve.dropna("step").to_series().to_string())

    if figure and "pe" in curves.coords:
        draw(curves, figure)

    # Complex eigenvalues of every head: the last axis holds real and imaginary part.
    if "spectra" in results and "eigenvalues" in results["spectra"]:
        parts = finished(results["spectra"])["eigenvalues"]
        eigenvalues = parts.sel(re_im="re") + 1j * parts.sel(re_im="im")
        rotational = np.abs(eigenvalues.imag).sum("mode") / np.abs(eigenvalues).sum("mode")
        print("\nrotational fraction by layer and head, mean over trials")
        print(rotational.mean("trial").to_pandas().round(3).to_string())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    main(*sys.argv[1:])
