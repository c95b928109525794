"""A step of training by torch: attention with dropout by ckgen, whose gradients are ckgen's, held against torch's own.

usage: training.py LIBRARY
"""

import sys

import torch

import ckgen.torch

HEADS_Q, HEADS_K, ROWS, HDIM = 4, 2, 64, 64
DROPPED = 0.2
GIVEN = {"causal": True, "dropout": DROPPED, "seed": 1234, "offset": 77}

ckgen.torch.use(ckgen.load(sys.argv[1], ["my_kernels"]))
torch.manual_seed(1)
q, k, v = (torch.randn(1, ROWS, heads, HDIM, requires_grad=True) for heads in (HEADS_Q, HEADS_K, HEADS_K))
wanted = torch.randn(1, ROWS, HEADS_Q, HDIM)
with torch.no_grad():  # with ones on V's diagonal, O is what dropout leaves of P
    kept = ckgen.torch.attention(q, k, torch.eye(ROWS)[None, :, None].repeat(1, 1, HEADS_K, 1), **GIVEN) != 0


def loss_of(out):
    """Half of the squared distance from what is wanted."""
    return 0.5 * (out - wanted).square().sum()


def by_torch():
    """The definition, that drops the same elements."""
    all_k, all_v = (one.double().repeat_interleave(HEADS_Q // HEADS_K, 2) for one in (k, v))
    scores = torch.einsum("bihd,bjhd->bihj", q.double(), all_k) * HDIM**-0.5
    hidden = torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1)[None, :, None]
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1) * kept / (1 - DROPPED)
    return torch.einsum("bihj,bjhd->bihd", weights, all_v)


expected = torch.autograd.grad(loss_of(by_torch()), (q, k, v))
descent = torch.optim.SGD([q, k, v], lr=1e-2)
loss = loss_of(ckgen.torch.attention(q, k, v, **GIVEN))
loss.backward()
pairs = zip((one.grad for one in (q, k, v)), expected, strict=True)
off = max(float((found - right).abs().max() / right.abs().max()) for found, right in pairs)
descent.step()
after = loss_of(ckgen.torch.attention(q, k, v, **GIVEN))
correct = off < 1e-5 and after < loss
print(f"{'correct' if correct else 'wrong'}: gradients are within {off:.1e} of torch's; ", end="")
print(f"a step takes the loss from {loss:.4f} to {after:.4f}")
sys.exit(not correct)
