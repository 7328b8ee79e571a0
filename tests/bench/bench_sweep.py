#!/usr/bin/env python3
"""bench_sweep.py - trials per hour of a whole sweep: pesweep on two ranks beside two PyTorch processes.

    tests/bench/bench_sweep.py [--build build/release] [--sweep sweeps/quick.yaml] [--rounds 3] [--json]

Both run the grid of sweeps/quick.yaml, alternately: start-up, data generation, training, evaluation, probes and
writing are all included. The PyTorch side does less than pesweep does (of the measurements only test accuracy and loss
at every evaluation, and at the checkpoints the eigenvalues of every head, accuracy without each head, and the mean
attention maps; no nulls, behaviours, symmetrisation or phase zeroing), so the ratio is a lower bound. It is eager:
compiling takes longer than such trials do. Packages as in bench_peer.py.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# sweeps/quick.yaml.
VOCAB, BETWEEN, SIDE, SAMPLES, TEST = 32, 8, 4, 6000, 0.2
LAYERS, C, HEADS, F = 2, 32, 4, 64
STEPS, BATCH, PEAK, WARMUP, BETAS, DECAY = 800, 64, 3e-3, 0.06, (0.9, 0.98), 1e-5
EVERY, CHECKPOINTS, MAPS, PROBES = 40, 12, 128, 256
GRID = [(pe, seed) for pe in ("nope", "learned", "alibi", "rope") for seed in (0, 1)]
D, LENGTH = C // HEADS, 2 * SIDE + BETWEEN + 2


# --- one PyTorch process: some trials of the grid ------------------------------------------------------------------

def make_data():
    import numpy as np

    random = np.random.default_rng(0)
    words = random.permutation(np.arange(1, VOCAB))
    first, second, fillers = words[0], words[1], words[2:]
    ids = np.zeros((SAMPLES, LENGTH), np.int64)
    labels = random.integers(1, BETWEEN + 1, SAMPLES)
    left, right = random.integers(1, SIDE + 1, (2, SAMPLES))
    for n in range(SAMPLES):
        row = random.choice(fillers, left[n] + labels[n] + right[n])
        row = np.concatenate([row[:left[n]], [first], row[left[n]:left[n] + labels[n]], [second],
                              row[left[n] + labels[n]:]])
        ids[n, :len(row)] = row
    return ids, labels - 1


def run_trials(mine, folder):
    import numpy as np
    import torch
    from torch.nn import functional as fn

    torch.set_num_threads(1)
    ids, labels = (torch.from_numpy(x) for x in make_data())
    num_test = int(SAMPLES * TEST)
    test_ids, test_labels, ids, labels = ids[:num_test], labels[:num_test], ids[num_test:], labels[num_test:]
    near = torch.arange(LENGTH)
    distance = (near[:, None] - near[None, :]).abs().float()
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)])
    turns = near[:, None] * 10000.0 ** (-2 * torch.arange(D // 2) / D)
    cos, sin = turns.cos(), turns.sin()

    def rotate(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
            self.qkv, self.o = torch.nn.Linear(C, 3 * C), torch.nn.Linear(C, C)
            self.w1, self.w2 = torch.nn.Linear(C, F), torch.nn.Linear(F, C)

        def forward(self, x, pe, without, maps):
            B, T, _ = x.shape
            q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, D).permute(2, 0, 3, 1, 4)
            if pe == "rope":
                q, k = rotate(q), rotate(k)
            bias = -slopes[:, None, None] * distance if pe == "alibi" else None
            if maps is not None:
                scores = q @ k.transpose(-1, -2) / math.sqrt(D) + (0 if bias is None else bias)
                maps.append(scores.softmax(-1).mean(0))
            o = fn.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            if without is not None:
                o = o.clone()
                o[:, without] = 0
            x = x + self.o(o.transpose(1, 2).reshape(B, T, C))
            return x + self.w2(fn.relu(self.w1(self.n2(x))))

    class Model(torch.nn.Module):
        def __init__(self, pe):
            super().__init__()
            self.pe, self.embed = pe, torch.nn.Embedding(VOCAB, C)
            self.position = torch.nn.Parameter(torch.randn(LENGTH, C)) if pe == "learned" else None
            self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm, self.head = torch.nn.LayerNorm(C), torch.nn.Linear(C, BETWEEN)

        def forward(self, ids, without=(None, None), maps=None):
            x = self.embed(ids)
            if self.position is not None:
                x = x + self.position
            for number, layer in enumerate(self.layers):
                x = layer(x, self.pe, without[1] if without[0] == number else None, maps)
            return self.head(self.norm(x).mean(1))

    def evaluate(model, ids, labels, **how):
        logits = model(ids, **how)
        return float(fn.cross_entropy(logits, labels)), float((logits.argmax(-1) == labels).float().mean())

    def probe(model):
        spectra, ablations, maps = [], [], []
        for number, layer in enumerate(model.layers):
            w = layer.qkv.weight.double().numpy()
            for h in range(HEADS):
                q, k = w[h * D:(h + 1) * D], w[C + h * D:C + (h + 1) * D]
                spectra.append(np.linalg.eigvals(q @ k.T))  # those of k^T q that aren't 0
                ablations.append(evaluate(model, test_ids[:PROBES], test_labels[:PROBES], without=(number, h)))
        model(test_ids[:MAPS], maps=maps)
        return np.array(spectra), np.array(ablations), torch.stack(maps).numpy()

    warmup = round(WARMUP * STEPS)
    at = {round(STEPS ** (i / (CHECKPOINTS - 2))) for i in range(CHECKPOINTS - 1)} | {0}
    for pe, seed in mine:
        torch.manual_seed(seed)
        model = Model(pe)
        matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
        others = [p for p in model.parameters() if all(p is not m for m in matrices)]
        optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY},
                                       {"params": others, "weight_decay": 0.0}], lr=PEAK, betas=BETAS, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: (s + 1) / warmup if s < warmup else
                                                     0.5 * (1 + math.cos(math.pi * (s - warmup) / (STEPS - warmup))))
        batches = torch.Generator().manual_seed(0)
        order, curve, probes = [], [], []
        for step in range(STEPS + 1):
            with torch.no_grad():
                if step % EVERY == 0:
                    curve.append(evaluate(model, test_ids, test_labels))
                if step in at:
                    probes.append(probe(model))
            if step == STEPS:
                break
            if len(order) < BATCH:
                order = torch.randperm(len(ids), generator=batches)
            batch, order = order[:BATCH], order[BATCH:]
            optimizer.zero_grad(set_to_none=True)
            fn.cross_entropy(model(ids[batch]), labels[batch]).backward()
            optimizer.step()
            schedule.step()
        columns = {name: np.stack(x) for name, x in zip(("spectra", "ablations", "maps"), zip(*probes))}
        np.savez(os.path.join(folder, f"{pe}-{seed}.npz"), curve=np.array(curve), **columns,
                 **{name: p.detach().numpy() for name, p in model.named_parameters()})
        print(f"{pe} {seed}: test accuracy {curve[-1][1]:.3f}", file=sys.stderr)


# --- both sides ----------------------------------------------------------------------------------------------------

def spent():
    """The clock, and processor seconds of all processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), children.ru_utime + children.ru_stime


def since(start):
    return [now - then for now, then in zip(spent(), start)]


def time_pesweep(build, sweep, folder):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    start = spent()
    subprocess.run(["mpirun", "-n", "2", "--oversubscribe", pathlib.Path(build) / "pesweep", "run", sweep, "-o",
                    os.path.join(folder, "quick.h5"), "--quiet"], check=True, env=environment)
    return since(start)


def time_peer(folder):
    one = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    start = spent()
    workers = [subprocess.Popen([sys.executable, __file__, "--worker", str(w), "--folder", folder],
                                env={**os.environ, **one, "CUDA_VISIBLE_DEVICES": ""}) for w in range(2)]
    if any([worker.wait() for worker in workers]):
        sys.exit("bench_sweep: a PyTorch process failed")
    return since(start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sweep", default="sweeps/quick.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--venv", default=os.environ.get("PESWEEP_PEER_VENV", "~/.cache/pesweep-peer"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        run_trials(GRID[args.worker::2], args.folder)
        return
    if "BENCH_PEER_INSIDE" not in os.environ:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
        from bench_peer import enter_environment

        enter_environment(args.venv)
    ours, theirs = [], []
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(time_pesweep(args.build, args.sweep, folder))
            theirs.append(time_peer(folder))
    hours = len(GRID) * 3600
    result = {"trials": len(GRID), "rounds": args.rounds}
    for which, kind in enumerate(("", "_by_processor_time")):
        mine, peer = [x[which] for x in ours], [x[which] for x in theirs]
        result["trials_per_hour" + kind] = hours / statistics.median(mine)
        result["pytorch_trials_per_hour" + kind] = hours / statistics.median(peer)
        result["times_faster" + kind] = statistics.median(t / o for t, o in zip(peer, mine))
    if args.json:
        print(json.dumps(result))
        return
    for kind in ("", "_by_processor_time"):
        print(f"{len(GRID)} trials on two cores: pesweep {result['trials_per_hour' + kind]:.0f} trials an hour, PyTorch "
              f"{result['pytorch_trials_per_hour' + kind]:.0f}: {result['times_faster' + kind]:.1f} times faster"
              f"{kind.replace('_', ' ')} (median of {args.rounds} rounds)")


if __name__ == "__main__":
    main()
