"""Gradients of Q, K and V, held against differences of the definition along them."""

import gallery
import numpy as np

NAMES = ("dq", "dk", "dv")
asked = gallery.read(batch=1, heads="4,2", seqlen="32", hdim="32")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked, np.float32)
seen = gallery.window(*asked.seqlen, -1, 0)
out, lse = lib.attention(q, k, v, causal=True, with_lse=True)
dout = gallery.numbers(*out.shape, seed=5, dtype=np.float32)  # the loss is the sum of dO times O
gradients = lib.attention_backward(dout, q, k, v, out, lse, causal=True)[:3]


def loss(step):
    """At a step along the gradients."""
    moved = (one.astype(np.float64) + step * by for one, by in zip((q, k, v), gradients, strict=True))
    return (dout * gallery.attention(*moved, visible=seen)[0]).sum()


square = sum((one.astype(np.float64) ** 2).sum() for one in gradients)
slope = (loss(1e-4) - loss(-1e-4)) / 2e-4
checks.near(f"a slope of {square:.4f}, by differences {slope:.4f}", square / slope, 1.0, 1e-4)
for name, at in zip(NAMES, ((0, 3, 1, 2), (0, 5, 1, 7), (0, 0, 0, 0)), strict=True):
    moved = {}
    for step in (1e-5, -1e-5):
        wide = [each.astype(np.float64) for each in (q, k, v)]
        wide[NAMES.index(name)][at] += step
        moved[step] = (dout * gallery.attention(*wide, visible=seen)[0]).sum()
    found = gradients[NAMES.index(name)][at]
    checks.near(f"an element of {name}", found, (moved[1e-5] - moved[-1e-5]) / 2e-5, 1e-4)
checks.end()
