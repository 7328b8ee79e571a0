#!/usr/bin/env python3
"""check_export.py FOLDER - what `pesweep export` writes, against the results file it comes from.

FOLDER holds e.h5 and the files that tests/unit/test_command_results.c exports from it: weights of trial 2, twice, and
three tables.  Reads safetensors by the letter of its specification.
"""
import json
import os
import struct
import sys

import h5py
import numpy as np
import pandas as pd

folder = sys.argv[1]


def at(name):
    return os.path.join(folder, name)


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    assert size % 8 == 0
    header = json.loads(data[8:8 + size].decode("utf-8"))
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    buffer = data[8 + size:]
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        assert entry["dtype"] == "F32" and begin == end, name
        tensors[name] = np.frombuffer(buffer[begin:stop], "<f4").reshape(entry["shape"])
        end = stop
    assert end == len(buffer), "holes or a rest"
    return metadata, tensors


results = h5py.File(at("e.h5"), "r")
metadata, tensors = read_safetensors(at("model.safetensors"))
weights = results["weights"]
row = weights["final"][2]
own = np.flatnonzero(weights["tensor_set"][:] == weights["parameter_set"][2])
assert len(own) == len(tensors) > 10
for i in own:
    tensor = tensors[weights["tensor_name"].asstr()[i]]
    offset, count = weights["tensor_offset"][i], weights["tensor_count"][i]
    assert np.array_equal(tensor.ravel(), row[offset:offset + count])
assert tensors["layers.0.attn.wq"].shape == (16, 16)
assert metadata["model.pe"] == "learned" and metadata["train.lr"] == "0.001"
assert metadata["pesweep.key"] == results["trials/key"].asstr()[2]
again = read_safetensors(at("key.safetensors"))
assert again[0] == metadata and all(np.array_equal(again[1][name], tensors[name]) for name in tensors)

trials = pd.read_csv(at("trials.csv"), keep_default_na=False, na_values=[""], float_precision="round_trip")
assert list(trials.pe) == ["nope", "nope", "learned", "learned", "rope", "rope"] and list(trials.seed) == [0, 1] * 3
assert list(trials.status) == ["done", "done", "diverged", "failed", "running", "pending"]
assert list(trials.reason[2:4]) == ["loss_bound"] * 2 and list(trials.steps) == [10, 10, 7, 7, 0, 0]
assert np.array_equal(trials.test_accuracy, results["trials/test_accuracy"][:], equal_nan=True), "every digit counts"

curves = pd.read_csv(at("curves.csv"), float_precision="round_trip")
loss = curves[(curves.variable == "test_loss") & (curves.trial == 1)]
assert list(loss.evaluation) == [0, 1], "the third evaluation was not made"
assert list(loss.value) == list(results["curves/test_loss"][1][:2])
assert list(loss.step) == list(results["curves/evaluation_step"][1][:2])
assert set(curves.trial) == {0, 1, 2, 3} and "evaluation_step" not in set(curves.variable)
fraction = curves[(curves.variable == "rotational_fraction") & (curves.trial == 2)]
assert len(fraction) == 2 * 4 * 4
index = tuple(fraction[name].astype(int) for name in ("checkpoint", "layer", "head"))
assert np.array_equal(fraction.value.astype(np.float32), results["curves/rotational_fraction"][2][index])

spectra = pd.read_csv(at("spectra.csv"), float_precision="round_trip")
eigenvalues = spectra[(spectra.variable == "eigenvalues") & (spectra.trial == 0)]
assert len(eigenvalues) == 4 * 4 * 4 * 2 and list(eigenvalues.re_im[:2]) == ["re", "im"]
assert list(eigenvalues.value) == list(results["spectra/eigenvalues"][0].ravel())
print("all right")
