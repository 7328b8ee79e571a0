#!/usr/bin/env python3
"""bench_peer.py - the training steps of bench_train beside PyTorch and JAX, alternately on the same core.

    tests/bench/bench_peer.py [--build build/release] [--sizes small,medium,published] [--pairs 10] [--json]

First each peer's loss and gradients of one batch are compared with those of pesweep, from the same parameters. Then
rounds: bench_train, and each peer in turn, one thread each, all pinned to one core. `times faster` is the median over
the rounds of the peer's seconds per step and seed over ours of the same round.

The packages go into an environment of the benchmark's own (--venv or PESWEEP_PEER_VENV, default ~/.cache/pesweep-peer),
which is made with pip if it isn't there. torch.compile needs a C++ compiler.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {
    "small": {"layers": 2, "heads": 4, "causal": False},
    "medium": {"layers": 4, "heads": 8, "causal": False},
    "published": {"layers": 6, "heads": 16, "causal": False},
    "b4": {"layers": 2, "heads": 4, "causal": True},
}
PACKAGES = ["torch", "jax", "numpy", "setuptools"]
# Norm of the difference over the norm, of every tensor's gradient. Sums in another order make about 1e-6; a unit of a
# ReLU whose input is 0 but for rounding may open on one side alone.
TOLERANCE = 1e-3


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sizes", default="small,medium,published")
    parser.add_argument("--peers", default="eager,compile,jax,jax-vmap8")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a peer's turn, at least one step")
    parser.add_argument("--cpu-time", action="store_true", help="processor time in place of the clock, on all sides")
    parser.add_argument("--venv", default=os.environ.get("PESWEEP_PEER_VENV", "~/.cache/pesweep-peer"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def enter_environment(venv):
    """Starts this script again under the environment's Python, with one thread for everything."""
    python = pathlib.Path(venv).expanduser() / "bin" / "python"
    if not python.exists():
        print(f"bench_peer: making {python.parent.parent}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
    one = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    xla = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    environment = {**os.environ, **one, "XLA_FLAGS": xla, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "",
                   "BENCH_PEER_INSIDE": "1"}
    os.execve(python, [str(python), *sys.argv], environment)


def compare(name, peer, saved):
    import numpy as np

    loss, gradients = peer.gradients()
    norm = np.linalg.norm
    worst = max((float(norm(gradients[key] - value) / norm(value)), key) for key, value in saved.gradients.items()
                if not key.endswith("attn.bk"))  # the softmax takes it out: it is 0 but for rounding
    if abs(loss - saved.loss) > 1e-5 * abs(saved.loss) or worst[0] > TOLERANCE:
        sys.exit(f"bench_peer: {name}: loss {loss} against {saved.loss}, gradient of {worst[1]} off by {worst[0]:.2g}")
    return worst[0]


def turn(peer, seconds, clock):
    """Fastest seconds per step and seed of a turn."""
    fastest, end = float("inf"), time.monotonic() + seconds
    while True:
        start = clock()
        peer.step()
        fastest = min(fastest, clock() - start)
        if time.monotonic() >= end:
            return fastest / peer.seeds


def bench(size, args, clock):
    from peer_models import PEERS, Saved

    program = pathlib.Path(args.build) / "tests/bench/bench_train"
    which = [program, "--sizes", size, "--pe", "learned"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "saved.safetensors"
        subprocess.run([*which, "--save", path], check=True)
        saved = Saved(path, SIZES[size])
    peers, differences = {}, {}
    for name in args.peers.split(","):
        print(f"bench_peer: {size}: preparing {name}", file=sys.stderr)
        peers[name] = PEERS[name](saved)
        differences[name] = compare(name, peers[name], saved)
        for _ in range(2):
            peers[name].step()
    ours, theirs = [], {name: [] for name in peers}
    for _ in range(args.pairs):
        told = subprocess.run([*which, "--json", "--pairs", "2", *(["--cpu-time"] if args.cpu_time else [])],
                              check=True, capture_output=True)
        ours.append(json.loads(told.stdout)[0]["step_seconds"])
        for name, peer in peers.items():
            theirs[name].append(turn(peer, args.seconds, clock))
    return [{"size": size, "peer": name, "pairs": args.pairs, "step_seconds": statistics.median(ours),
             "peer_step_seconds": statistics.median(times),
             "times_faster": statistics.median(t / o for t, o in zip(times, ours)),
             "times_faster_least": min(t / o for t, o in zip(times, ours)),
             "gradient_difference": differences[name], "clock": "processor" if args.cpu_time else "wall"}
            for name, times in theirs.items()]


def main():
    args = options()
    if "BENCH_PEER_INSIDE" not in os.environ:
        enter_environment(args.venv)
    sys.path.insert(0, str(HERE))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax
    import torch

    versions = {"torch": torch.__version__, "jax": jax.__version__}
    clock = time.process_time if args.cpu_time else time.perf_counter
    if not args.json:
        print(f"torch {versions['torch']}, jax {versions['jax']}; one thread each; median of {args.pairs} rounds")
        print(f"{'size':<10} {'peer':<10} {'pesweep':>10} {'peer':>10} {'times faster':>13} {'least':>7} {'gradients':>10}")
    results = []
    for size in args.sizes.split(","):
        for row in bench(size, args, clock):
            results.append({**row, **versions})
            if not args.json:
                print(f"{size:<10} {row['peer']:<10} {1e3 * row['step_seconds']:7.2f} ms "
                      f"{1e3 * row['peer_step_seconds']:7.2f} ms {row['times_faster']:12.2f}x "
                      f"{row['times_faster_least']:6.2f}x {row['gradient_difference']:10.1e}", flush=True)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
