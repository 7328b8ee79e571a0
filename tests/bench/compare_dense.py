#!/usr/bin/env python3
"""compare_dense.py PESWEEP FOLDER - CPU time of one head's spectrum: numpy's dense route against `pesweep inspect`.

    python3 ../fixtures/make_large.py /tmp/one 1
    python3 compare_dense.py build/release/pesweep /tmp/one

FOLDER holds a model of make_large.py.  The dense route forms M = W_q^T W_k, C x C, and calls numpy.linalg.eigvals once,
on one thread: minutes at C = 4096.  inspect measures all heads of all layers, raw, on one rank, with everything that it
stores but null draws; its time for an empty task (--list) is taken off.  Largest eigenvalues have to agree.
Needs numpy and h5py.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import h5py
import numpy as np


def cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    program, folder = sys.argv[1:3]
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    heads = config["num_hidden_layers"] * config["num_attention_heads"]
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "heads.h5")
        idle = cpu_of([program, "inspect", "--list"])
        ours = (cpu_of([program, "inspect", "-q", folder, "-o", out, "--fold-norm", "raw", "--nulls", "0"]) - idle) / heads
        with h5py.File(out) as file:
            found = file["spectra/eigenvalues"][0, 0, 0].view(np.complex128).ravel()
    print(f"pesweep inspect: {1e3 * ours:.1f} ms of CPU time a head, all measures ({heads} heads)", flush=True)

    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(header))
        C, D = config["hidden_size"], config["hidden_size"] // config["num_attention_heads"]

        def rows(name):
            file.seek(8 + header + tensors[f"model.layers.0.self_attn.{name}_proj.weight"]["data_offsets"][0])
            return (np.fromfile(file, "<u2", D * C).astype(np.uint32) << 16).view(np.float32).reshape(D, C).astype(float)
        q, k = rows("q"), rows("k")
    start = time.process_time()
    values = np.linalg.eigvals(q.T @ k)
    dense = time.process_time() - start
    values = values[np.argsort(-abs(values))][:D]
    worst = max(abs(found - value).min() for value in values[:D // 2]) / abs(values[0])
    print(f"numpy.linalg.eigvals of {C} x {C}: {dense:.1f} s of CPU time, eigenvalues alone; they differ by {worst:.1e}")
    print(f"ratio: {dense / ours:.0f}")
    sys.exit(worst > 1e-8)


if __name__ == "__main__":
    main()
