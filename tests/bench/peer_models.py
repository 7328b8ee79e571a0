"""The models of bench_train in PyTorch and JAX: the same layers, optimizer and dtype.

A peer has step() -> loss, gradients() -> {name: array} of the saved batch at the saved parameters, and seeds, the
models that one step trains. Names and shapes are those of the file that `bench_train --save` writes.
"""
import json

import numpy as np

LEARNING_RATE, DECAY, EPS, BETAS = 1e-4, 0.01, 1e-8, (0.9, 0.999)


class Saved:
    """Parameters, gradients, batch and loss out of a safetensors file."""

    def __init__(self, path, size):
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        types = {"F32": np.float32, "F64": np.float64, "I32": np.int32}
        arrays = {}
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[start:end], types[entry["dtype"]]).reshape(entry["shape"])
        self.gradients = {name[9:]: value for name, value in arrays.items() if name.startswith("gradient.")}
        self.parameters = {name: arrays[name] for name in self.gradients}
        self.ids, self.labels = arrays["batch.ids"], arrays["batch.labels"]
        self.loss = float(arrays["loss"][0])
        self.layers, self.heads, self.causal = size["layers"], size["heads"], size["causal"]
        self.per_token = self.labels.size == self.ids.size
        self.feed_forward = "layers.0.ffn.w1" in self.parameters

    def decays(self, name):
        """Weight matrices decay; embeddings, norms and biases don't."""
        return self.parameters[name].ndim == 2 and not name.startswith("embed.")


# --- PyTorch ------------------------------------------------------------------------------------------------------

class TorchPeer:
    seeds = 1

    def __init__(self, saved, compiled):
        import torch

        self.torch, self.saved = torch, saved
        torch.set_num_threads(1)
        self.parameters = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in saved.parameters.items()}
        self.ids, self.labels = torch.tensor(saved.ids).long(), torch.tensor(saved.labels).long()
        groups = [{"params": [p for name, p in self.parameters.items() if saved.decays(name) == decays],
                   "weight_decay": DECAY if decays else 0.0} for decays in (True, False)]
        self.optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=BETAS, eps=EPS, fused=True)
        self.loss = torch.compile(self.forward) if compiled else self.forward

    def forward(self, ids, labels):
        torch, p, saved = self.torch, self.parameters, self.saved
        F = torch.nn.functional
        B, T = ids.shape
        x = F.embedding(ids, p["embed.tokens"]) + p["embed.positions"][:T]
        C = x.shape[-1]
        for layer in range(saved.layers):
            def at(name):
                return p[f"layers.{layer}.{name}"]

            n = F.layer_norm(x, (C,), at("norm1.weight"), at("norm1.bias"))
            # One product for q, k and v, as a packed projection has it.
            w = torch.cat([at("attn.wq"), at("attn.wk"), at("attn.wv")])
            b = torch.cat([at("attn.bq"), at("attn.bk"), at("attn.bv")])
            q, k, v = F.linear(n, w, b).view(B, T, 3, saved.heads, C // saved.heads).permute(2, 0, 3, 1, 4)
            o = F.scaled_dot_product_attention(q, k, v, is_causal=saved.causal)
            x = x + F.linear(o.transpose(1, 2).reshape(B, T, C), at("attn.wo"), at("attn.bo"))
            if saved.feed_forward:
                n = F.layer_norm(x, (C,), at("norm2.weight"), at("norm2.bias"))
                h = F.relu(F.linear(n, at("ffn.w1"), at("ffn.b1")))
                x = x + F.linear(h, at("ffn.w2"), at("ffn.b2"))
        x = F.layer_norm(x, (C,), p["norm_f.weight"], p["norm_f.bias"])
        if not saved.per_token:
            x = x.mean(1)
        logits = F.linear(x, p["head.weight"], p["head.bias"])
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.ids, self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def gradients(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.ids, self.labels)
        loss.backward()
        found = {name: p.grad.numpy().copy() for name, p in self.parameters.items()}
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item(), found


# --- JAX ----------------------------------------------------------------------------------------------------------

class JaxPeer:
    def __init__(self, saved, seeds):
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp, self.saved, self.seeds = jax, jnp, saved, seeds
        self.ids, self.labels = jnp.asarray(saved.ids), jnp.asarray(saved.labels)
        # Seeds start from scaled weights, so that no two are the same.
        def stack(value):
            return jnp.stack([jnp.asarray(value) * (1 + 0.01 * s) for s in range(seeds)]) if seeds > 1 \
                else jnp.asarray(value)

        p = {name: stack(value) for name, value in saved.parameters.items()}
        zeros = jax.tree.map(jnp.zeros_like, p)
        self.state = (p, zeros, jax.tree.map(jnp.zeros_like, p), jnp.zeros((seeds,) if seeds > 1 else ()))
        update = jax.vmap(self.update, in_axes=(0, None, None)) if seeds > 1 else self.update
        self.train = jax.jit(update, donate_argnums=0)

    def forward(self, p, ids, labels):
        jax, jnp, saved = self.jax, self.jnp, self.saved
        B, T = ids.shape

        def norm(x, name):
            mean = x.mean(-1, keepdims=True)
            variance = jnp.square(x - mean).mean(-1, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[name + ".weight"] + p[name + ".bias"]

        x = p["embed.tokens"][ids] + p["embed.positions"][:T]
        C = x.shape[-1]
        D = C // saved.heads
        for layer in range(saved.layers):
            prefix = f"layers.{layer}."

            def at(name):
                return p[prefix + name]

            n = norm(x, prefix + "norm1")
            w = jnp.concatenate([at("attn.wq"), at("attn.wk"), at("attn.wv")])
            b = jnp.concatenate([at("attn.bq"), at("attn.bk"), at("attn.bv")])
            q, k, v = jnp.moveaxis((n @ w.T + b).reshape(B, T, 3, saved.heads, D), 2, 0)
            scores = jnp.einsum("bihd,bjhd->bhij", q, k) / np.float32(np.sqrt(D))
            if saved.causal:
                scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -jnp.inf)
            o = jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores, -1), v).reshape(B, T, C)
            x = x + o @ at("attn.wo").T + at("attn.bo")
            if saved.feed_forward:
                h = jax.nn.relu(norm(x, prefix + "norm2") @ at("ffn.w1").T + at("ffn.b1"))
                x = x + h @ at("ffn.w2").T + at("ffn.b2")
        x = norm(x, "norm_f")
        if not saved.per_token:
            x = x.mean(1)
        logits = x @ p["head.weight"].T + p["head.bias"]
        logits = jax.nn.log_softmax(logits.reshape(-1, logits.shape[-1]))
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    def update(self, state, ids, labels):
        jax, jnp = self.jax, self.jnp
        p, m, v, t = state
        loss, g = jax.value_and_grad(self.forward)(p, ids, labels)
        t = t + 1
        m = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, m, g)
        v = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, v, g)
        first, second = 1 - BETAS[0] ** t, 1 - BETAS[1] ** t
        p = {name: p[name] * (1 - LEARNING_RATE * DECAY * self.saved.decays(name)) -
             LEARNING_RATE * (m[name] / first) / (jnp.sqrt(v[name] / second) + EPS) for name in p}
        return (p, m, v, t), loss

    def step(self):
        self.state, loss = self.train(self.state, self.ids, self.labels)
        return float(self.jnp.ravel(loss)[0])

    def gradients(self):
        p = {name: self.jnp.asarray(value) for name, value in self.saved.parameters.items()}
        loss, found = self.jax.jit(self.jax.value_and_grad(self.forward))(p, self.ids, self.labels)
        return float(loss), {name: np.asarray(value) for name, value in found.items()}


PEERS = {
    "eager": lambda saved: TorchPeer(saved, False),
    "compile": lambda saved: TorchPeer(saved, True),
    "jax": lambda saved: JaxPeer(saved, 1),
    "jax-vmap8": lambda saved: JaxPeer(saved, 8),
}
