"""Our reference of attention against PyTorch's scaled_dot_product_attention: largest differences, no times.

float64 shows that both mean the same: the reference's O is rounded to fp32, and so at most half a step of it off. In
fp32, fp16 and bf16 PyTorch is a kernel like any other: its largest error, in units of the reference's bound, is 1 at
most. RuntimeError where it is not. Needs torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from support import Row, Run, main
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.mask import FmhaMask, parse_mask
from ckgen.families.fmha.operands import FmhaOperands, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.fmha_shape import FmhaShape

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
MOST = {"float64": 2.0**-24} | dict.fromkeys(TYPES, 1.0)


@dataclass(frozen=True)
class Problem:
    """Words of the signature beside its type, sizes, and the mask."""

    name: str
    words: str
    shape: FmhaShape
    mask: str = "none"

    def operands(self, dtype: str) -> FmhaOperands:
        """Seeded by the name."""
        mask = parse_mask(self.mask)
        shape = FmhaShape(
            self.shape.batch, self.shape.heads_q, self.shape.heads_k, self.shape.seqlen_q, self.shape.seqlen_k,
            self.shape.hdim_q, self.shape.hdim_v, mask.corner, mask.left, mask.right, mask.sink_tokens,
        )  # fmt: skip
        masked = "" if self.mask == "none" else "_masked"
        return make_operands(parse_canonical(f"fmha_{dtype}{masked}{self.words}"), shape, sum(self.name.encode()))


PROBLEMS = [
    Problem("full", "", FmhaShape(2, 4, 4, 128, 128, 64, 64)),
    Problem("two head dims", "", FmhaShape(2, 2, 2, 64, 96, 192, 128)),
    Problem("causal top left", "", FmhaShape(2, 4, 4, 128, 160, 64, 64), "topleft"),
    Problem("causal bottom right", "", FmhaShape(2, 4, 4, 96, 160, 64, 64), "causal"),
    Problem("window and sink tokens", "", FmhaShape(1, 4, 4, 128, 128, 64, 64), "b:24,0,4"),
    Problem("window on both sides", "", FmhaShape(1, 4, 4, 128, 100, 64, 64), "t:16,31"),
    Problem("GQA 8:2", "", FmhaShape(2, 8, 2, 64, 128, 128, 128), "causal"),
    Problem("MQA 8:1", "", FmhaShape(2, 8, 1, 64, 128, 128, 128)),
    Problem("bias", "_elementwise", FmhaShape(2, 4, 4, 96, 128, 64, 64)),
    Problem("bias and causal", "_elementwise", FmhaShape(2, 4, 2, 96, 128, 64, 64), "causal"),
    Problem("alibi and causal", "_alibi", FmhaShape(2, 4, 4, 96, 96, 64, 64), "causal"),
    Problem("decode", "", FmhaShape(4, 16, 2, 1, 1024, 128, 128), "causal"),
]


def theirs(problem: Problem, operands: FmhaOperands, dtype: torch.dtype) -> np.ndarray:
    """PyTorch's O, [batch, seqlen_q, heads_q, hdim_v]."""
    q, k, v = (torch.from_numpy(x.transpose(0, 2, 1, 3).copy()).to(dtype) for x in (operands.q, operands.k, operands.v))
    shape, more = operands.shape, dict[str, Any]()
    if problem.mask == "topleft" and operands.bias is None:
        more["is_causal"] = True
    elif problem.mask != "none" or operands.bias is not None:
        more["attn_mask"] = torch.from_numpy(added(operands)).to(dtype)
    grouped = shape.heads_q != shape.heads_k
    o = scaled_dot_product_attention(q, k, v, scale=operands.scale, enable_gqa=grouped, **more)
    found: np.ndarray = o.to(torch.float64).numpy()
    return found.transpose(0, 2, 1, 3)


def added(operands: FmhaOperands) -> np.ndarray:
    """Bias and mask as one addend, [batch, heads_q, seqlen_q, seqlen_k]."""
    shape = operands.shape
    whole = np.zeros((shape.batch, shape.heads_q, shape.seqlen_q, shape.seqlen_k))
    if operands.bias is not None and operands.bias.ndim == 2:
        i, j = np.ogrid[: shape.seqlen_q, : shape.seqlen_k]
        whole -= operands.bias[..., None, None] * np.abs(i + shape.seqlen_k - shape.seqlen_q - j)
    elif operands.bias is not None:
        whole += operands.bias
    mask = FmhaMask.of(shape, operands.signature.traits.masked).over(shape.seqlen_q, shape.seqlen_k)
    return np.where(mask.array(), whole, -np.inf)


def differing_masks() -> int:
    """Sizes up to 24 x 24 at which a causal mask of ours is not PyTorch's."""
    makers: dict[FmhaCorner, Callable[[int, int], object]] = {
        FmhaCorner.TOP_LEFT: causal_upper_left,
        FmhaCorner.BOTTOM_RIGHT: causal_lower_right,
    }
    found = 0
    warnings.simplefilter("ignore", UserWarning)  # of rows that see nothing
    for corner, make in makers.items():
        for q, k in np.ndindex(24, 24):
            their = make(q + 1, k + 1)._materialize().numpy()  # type: ignore[attr-defined]
            found += not np.array_equal(FmhaMask(corner, right=0).over(q + 1, k + 1).array(), their)
    return found


def rows(run: Run) -> Iterator[Row]:
    """The worst of all problems for each type, and the masks that differ; RuntimeError where one is wrong."""
    versus = f"{len(PROBLEMS)} problems: masks, windows, GQA, bias, decode"
    for name, dtype in {"float64": torch.float64, **TYPES}.items():
        if not run.wants(name):
            continue
        worst = max(_difference(problem, name, dtype) for problem in PROBLEMS)
        if not worst <= MOST[name]:
            raise RuntimeError(f"{name}: the reference and torch differ by {worst}")
        unit = "at most off" if name == "float64" else "of the reference's bound"
        yield run.counted(name, f"attention's reference against torch, {name}", versus, unit, worst)
    if run.wants("masks"):
        if wrong := differing_masks():
            raise RuntimeError(f"{wrong} causal masks differ")
        yield run.counted("masks", "causal masks against torch's", "2 corners of 576 sizes", "differ", wrong)


def _difference(problem: Problem, name: str, dtype: torch.dtype) -> float:
    """Of float64 as it is, else in units of the reference's bound."""
    if problem.words == "_alibi" and dtype.itemsize == 2:
        return 0.0  # PyTorch takes the distances as a bias, and so rounded to 16 bits
    operands = problem.operands("fp32" if name == "float64" else name)
    expected, found = expect(operands).o, theirs(problem, operands, dtype)
    return float(np.abs(found - expected.c).max() if name == "float64" else expected.excess(found))


if __name__ == "__main__":
    main(rows, __doc__)
