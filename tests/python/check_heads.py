#!/usr/bin/env python3
"""check_heads.py FILE FIXTURES - the file that `pesweep inspect` writes of gpt2, llama and deepseek-v2, in h5py and
xarray, and its numbers against numpy on matrices cut out of the checkpoints here."""
import json
import os
import struct
import sys

import h5py
import numpy as np
import xarray

path, fixtures = sys.argv[1:3]
NAMES = ["gpt2", "llama", "deepseek-v2"]


def tensors(name):
    with open(os.path.join(fixtures, name, "model.safetensors"), "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    buffer = data[8 + size:]
    return {key: np.frombuffer(buffer[slice(*e["data_offsets"])], "<f4").reshape(e["shape"]).astype(float)
            for key, e in header.items()}


def gpt2(all_, layer, head):
    w = all_[f"h.{layer}.attn.c_attn.weight"].T
    return w[6 * head:6 * head + 6], w[24 + 6 * head:30 + 6 * head], all_[f"h.{layer}.ln_1.weight"], True


def llama(all_, layer, head):
    at = f"model.layers.{layer}."
    q, k = all_[at + "self_attn.q_proj.weight"], all_[at + "self_attn.k_proj.weight"]
    group = head // 2
    return q[8 * head:8 * head + 8], k[8 * group:8 * group + 8], all_[at + "input_layernorm.weight"], False


def deepseek(all_, layer, head):
    at = f"model.layers.{layer}."
    q = all_[at + "self_attn.q_proj.weight"][10 * head:10 * head + 6]
    up = all_[at + "self_attn.kv_b_proj.weight"][11 * head:11 * head + 6]
    down = all_[at + "self_attn.kv_a_proj_with_mqa.weight"][:8]
    k = (up * all_[at + "self_attn.kv_a_layernorm.weight"]) @ down
    return q, k, all_[at + "input_layernorm.weight"], False


def measures(q, k, gain, centred, folded):
    m = q.T @ k
    if folded:
        c = np.eye(len(gain)) - (np.ones((len(gain),) * 2) / len(gain) if centred else 0)
        m = c @ np.diag(gain) @ m @ np.diag(gain) @ c
    values = np.linalg.eigvals(m)
    return dict(rotational_fraction=np.abs(values.imag).sum() / np.abs(values).sum(),
                directional_fraction=np.linalg.norm((m - m.T) / 2) / np.linalg.norm(m),
                fro2=(m ** 2).sum()), np.linalg.svd(m, compute_uv=False)


results = h5py.File(path, "r")
assert results.attrs["format"] == b"pesweep heads" or results.attrs["format"] == "pesweep heads"
assert list(results["models/label"].asstr()) == NAMES
assert list(results["models/scheme"].asstr()) == ["learned", "rope", "mla"]
assert list(results["models/name"].asstr()) == NAMES
paths = list(results["provenance/variable_path"].asstr())
assert "spectra_folded/eigenvalues" in paths
assert results["provenance/variable_dimensions"].asstr()[paths.index("spectra_folded/eigenvalues")] == \
    "layer head mode re_im"
assert list(results["models/key_heads"]) == [4, 2, 4]
for number, (name, cut) in enumerate(zip(NAMES, [gpt2, llama, deepseek])):
    all_ = tensors(name)
    for layer in range(2):
        for head in range(4):
            q, k, gain, centred = cut(all_, layer, head)
            for folded, group in ((False, "spectra"), (True, "spectra_folded")):
                wanted, singular = measures(q, k, gain, centred, folded)
                for key, value in wanted.items():
                    got = results[group][key][number, layer, head]
                    assert abs(got - value) < 1e-8 * max(1, value), (name, layer, head, group, key, got, value)
                stored = results[group]["singular_values"][number, layer, head]
                assert np.allclose(stored[:len(q)], singular[:len(q)], rtol=1e-9)
                assert np.isnan(stored[len(q):]).all()
assert results["spectra/rotational_fraction"].dims[0][0].name == "/spectra/model"
for engine in ("h5netcdf", "netcdf4"):
    with xarray.open_dataset(path, engine=engine, group="spectra_folded") as data:
        assert data.rotational_fraction.dims == ("model", "layer", "head")
        assert data.eigenvalues.dims == ("model", "layer", "head", "mode", "re_im")
        assert data.rotational_fraction_z.notnull().all()
print("ok")
