#!/usr/bin/env python3
"""check_results.py FILE - a results file as the Python world sees it.

FILE is the one that tests/unit/test_store_python.c makes: 6 trials (pe: nope, learned, rope; seed: 0, 1) of 4 layers x
4 heads x 4 modes, of which trials 1 (done) and 4 (diverged) are finished.  Opens every group with h5py, xarray's two
engines and netCDF4, with warnings as errors, and ends with exit code 0 if everything is as it should be.
"""
import json
import shutil
import sys
import warnings

import h5netcdf  # noqa: F401  (xarray picks the engine by name)
import netCDF4
import h5py
import numpy as np
import xarray as xr

warnings.simplefilter("error")
# Not ours: the two libraries' own build details.
warnings.filterwarnings("ignore", message="numpy.ndarray size changed")

GROUPS = ["trials", "curves", "spectra", "attention", "probes", "weights", "provenance"]
path = sys.argv[1]


def check_scales():
    """Every axis of every dataset has exactly one scale, in its own group, of its own name."""
    with h5py.File(path, "r") as file:
        assert list(file) == sorted(GROUPS), list(file)
        assert file.attrs["schema_version"] == 1
        assert file["/"].id.get_create_plist().get_link_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
        for group in file.values():
            order = group.id.get_create_plist().get_link_creation_order()
            assert order & h5py.h5p.CRT_ORDER_TRACKED
            for name, dataset in group.items():
                assert not dataset.id.get_create_plist().get_obj_track_times(), name
                if h5py.h5ds.is_scale(dataset.id):
                    continue
                for axis in dataset.dims:
                    assert len(axis) == 1, (group.name, name)
                    assert axis[0].parent.name == group.name, (group.name, name)
                if dataset.ndim and not h5py.check_string_dtype(dataset.dtype):
                    assert dataset.chunks is None and dataset.id.get_offset() is not None, (group.name, name)


def check_h5py():
    with h5py.File(path, "r") as file:
        trials = file["trials"]
        assert list(trials["pe"].asstr()) == ["nope", "nope", "learned", "learned", "rope", "rope"]
        assert trials["pe"].attrs["swept_key"].decode() == "model.pe" and "swept_key" not in trials["steps"].attrs
        assert list(trials["seed"]) == [0, 1] * 3 and trials["seed"].dtype == np.int64
        assert list(trials["status"]) == [0, 2, 0, 0, 4, 1] and trials["status"].dtype == np.uint8
        assert trials["status"].attrs["flag_meanings"].decode() == "pending running done failed diverged"
        assert list(trials["status"].attrs["flag_values"]) == [0, 1, 2, 3, 4]
        assert "_FillValue" not in trials["seed"].attrs and "_FillValue" not in trials["status"].attrs
        assert [len(key) for key in trials["key"].asstr()] == [32] * 6
        eigenvalues = file["spectra/eigenvalues"]
        assert eigenvalues.dtype == np.float64
        assert eigenvalues[:].view(np.complex128).shape == (6, 4, 4, 4, 1)
        assert np.isnan(eigenvalues[0]).all() and np.isfinite(eigenvalues[1]).all()
        provenance = file["provenance"]
        text = provenance["sweep_text"].asstr()[()]
        assert "grid: {pe: [nope, learned, rope], seed: 0..1}" in text
        config = dict(line.split("=", 1) for line in provenance["config"].asstr()[5].splitlines())
        assert config["model.pe"] == "rope" and config["train.seed"] == "1"
        assert config["train.lr"] == "0.001", "defaults are there too"
        settings = dict(line.split("=", 1) for line in provenance["settings"].asstr()[()].splitlines())
        assert settings["measure.checkpoints"] == "24"
        message = provenance["message"][4].tobytes().rstrip(b"\0").decode()
        assert message == "loss 2e+04 at step 7", message
        assert json.loads(provenance["runs"][0].tobytes().rstrip(b"\0"))["command"] == "test"


def check_tensors(weights):
    """The table cuts a trial's vector into tensors without overlap."""
    own = weights.parameter_set.values
    assert own[0] == own[1] and own[2] == own[3] and own[0] != own[2]  # learned positions are a tensor more
    assert own[4] == own[0]  # rope has no parameters
    for number in set(own):
        rows = np.flatnonzero(weights.tensor_set.values == number)
        end = 0
        for row in rows:
            assert weights.tensor_offset.values[row] >= end
            shape = weights.tensor_shape.values[row]
            assert np.prod(shape) == weights.tensor_count.values[row]
            assert (shape[weights.tensor_rank.values[row]:] == 1).all()
            end = weights.tensor_offset.values[row] + weights.tensor_count.values[row]
        names = list(weights.tensor_name.values[rows])
        assert len(set(names)) == len(names)
    assert weights.tensor_decays.dtype == bool
    assert weights.tensor_decays.values.any() and not weights.tensor_decays.values.all()


def check_xarray(engine):
    data = {group: xr.open_dataset(path, group=group, engine=engine) for group in GROUPS}
    trials = data["trials"]
    assert trials.sizes == {"trial": 6}, trials.sizes
    assert list(trials.trial.values) == list(range(6))
    assert list(trials.pe.values) == ["nope", "nope", "learned", "learned", "rope", "rope"]
    assert trials.seed.dtype == np.int64 and trials.status.dtype == np.uint8 and trials.steps.dtype == np.int64
    assert trials.checksum.dtype == np.uint64
    assert list(trials.steps.values) == [0, 10, 0, 0, 7, 0]
    assert trials.parameters.dtype == np.int64
    assert np.isnan(trials.test_accuracy.values[[0, 2, 3, 5]]).all()
    assert np.isfinite(trials.test_accuracy.values[[1, 4]]).all()

    spectra = data["spectra"]
    assert spectra.eigenvalues.dims == ("trial", "layer", "head", "mode", "re_im")
    assert spectra.sizes == {"trial": 6, "layer": 4, "head": 4, "mode": 4, "re_im": 2}
    assert list(spectra.re_im.values) == ["re", "im"]
    assert list(spectra.layer.values) == [0, 1, 2, 3] == list(spectra["head"].values)
    assert spectra.eigenvalues.attrs["long_name"] == "eigenvalues of M"
    assert data["attention"].relative_kernel.dims == ("trial", "layer", "head", "offset")
    assert list(data["attention"].offset.values) == list(range(-8, 1))
    assert list(data["probes"].part.values) == ["symmetric", "antisymmetric"]
    assert data["probes"].measured.dtype == np.uint8

    curves = data["curves"]
    assert curves.rotational_fraction.dims == ("trial", "checkpoint", "layer", "head")
    assert curves.rotational_fraction.dtype == np.float32
    assert curves.test_loss.attrs["units"] == "nats"
    assert list(curves.evaluation_step.values[0]) == [-1, -1, -1]

    weights = data["weights"]
    assert weights.final.dims == ("trial", "parameter") and "parameter" not in weights.variables
    check_tensors(weights)

    provenance = data["provenance"]
    assert provenance.train_seconds.dtype == np.float64, "never a timedelta"
    assert provenance.train_seconds.values[1] == 1.5 and np.isnan(provenance.train_seconds.values[0])
    message = provenance.message.values
    text = message[4].decode() if isinstance(message[4], bytes) else message[4]
    assert text == "loss 2e+04 at step 7", text
    assert list(provenance.variable_path.values)[0] == "trials/test_accuracy"
    assert "grid:" in str(provenance.sweep_text.values)

    # By names: the mean over heads of the finished trials, and axes joined from /trials.
    finished = spectra.eigenvalues.where(trials.status == 2, drop=True)
    assert finished.sizes["trial"] == 1 and int(finished.trial[0]) == 1
    by_scheme = spectra.eigenvalues.assign_coords(pe=trials.pe).groupby("pe").count()
    assert int(by_scheme.sel(pe="nope").sum()) == 4 * 4 * 4 * 2
    for dataset in data.values():
        dataset.close()


def check_append():
    """netCDF-C opens for appending only what tracks creation order."""
    copy = path + ".copy"
    shutil.copy(path, copy)
    with netCDF4.Dataset(copy, "a") as file:
        file["trials"].setncattr("remark", "appended")
    with netCDF4.Dataset(copy) as file:
        assert file["trials"].getncattr("remark") == "appended"
        assert file["spectra"]["eigenvalues"].dimensions == ("trial", "layer", "head", "mode", "re_im")


check_scales()
check_h5py()
check_xarray("h5netcdf")
check_xarray("netcdf4")
check_append()
print("all right")
