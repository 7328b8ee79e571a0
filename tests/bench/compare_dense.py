#!/usr/bin/env python3
"""compare_dense.py PESWEEP FOLDER - CPU time of one head's spectra: numpy's dense route against `pesweep inspect`.

    python3 ../fixtures/make_large.py /tmp/one 1
    python3 compare_dense.py build/release/pesweep /tmp/one

FOLDER holds a model of make_large.py.  The dense route forms M = W_q^T W_k, C x C, and takes what the stored measures of
M come from: numpy.linalg's eigvals of M, its singular values and eigvalsh of its symmetric part, once each, on one thread:
minutes at C = 4096.  inspect measures all heads of all layers, raw, on one rank, with everything that it stores but null
draws, phases included; its time for a tiny model is taken off.  Eigenvalues and singular values have to agree.
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
        options = ["-q", "-o", out, "--fold-norm", "raw", "--nulls", "0"]
        tiny = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "llama")
        idle = cpu_of([program, "inspect", tiny, *options])
        ours = (cpu_of([program, "inspect", folder, *options]) - idle) / heads
        with h5py.File(out) as file:
            found = file["spectra/eigenvalues"][0, 0, 0].view(np.complex128).ravel()
            singular = file["spectra/singular_values"][0, 0, 0]
    print(f"pesweep inspect: {1e3 * ours:.1f} ms of CPU time a head, all measures ({heads} heads)", flush=True)

    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(header))
        C, D = config["hidden_size"], config["hidden_size"] // config["num_attention_heads"]

        def rows(name):
            file.seek(8 + header + tensors[f"model.layers.0.self_attn.{name}_proj.weight"]["data_offsets"][0])
            return (np.fromfile(file, "<u2", D * C).astype(np.uint32) << 16).view(np.float32).reshape(D, C).astype(float)
        q, k = rows("q"), rows("k")
    m, seconds, results = q.T @ k, [], []
    for name, route in (("eigvals", lambda: np.linalg.eigvals(m)),
                        ("svd", lambda: np.linalg.svd(m, compute_uv=False)),
                        ("eigvalsh", lambda: np.linalg.eigvalsh((m + m.T) / 2))):
        start = time.process_time()
        results.append(route())
        seconds.append(time.process_time() - start)
        print(f"numpy.linalg.{name} of {C} x {C}: {seconds[-1]:.1f} s of CPU time", flush=True)
    values = results[0][np.argsort(-abs(results[0]))][:D]
    worst = max(abs(found - value).min() for value in values[:D // 2]) / abs(values[0])
    worst = max(worst, abs(singular - results[1][:D]).max() / singular[0])
    print(f"largest difference {worst:.1e} of the largest value; ratio {sum(seconds) / ours:.0f}, "
          f"of eigvals alone to all our measures {seconds[0] / ours:.0f}")
    sys.exit(bool(worst > 1e-8))


if __name__ == "__main__":
    main()
