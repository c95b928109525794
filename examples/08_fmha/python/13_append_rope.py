"""New rows into a KV cache, keys rotated to their positions: no call with tensors, so the structs of the C API."""

import gallery
import ml_dtypes
import numpy as np

import ckgen
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct

asked = gallery.read(heads="4,2", seqlen="3,40")  # 3 new rows, room for 40
lib, checks = asked.load(), gallery.Checks()
(rows, room), heads, half = asked.seqlen, asked.heads[1], asked.hdim[0] // 2
said = ckgen.FmhaBuilder().types("bf16").batch(asked.batch).heads(*asked.heads).seqlen(0, room).hdim(*asked.hdim)
problem = said.seqlen(rows, room).append(rows).rope("half", asked.hdim[0]).build()
q, k_cache, v_cache = gallery.operands(asked)
k_new, v_new = (gallery.numbers(asked.batch, rows, heads, d, seed=9 + i) for i, d in enumerate(asked.hdim))
cos, sin = (gallery.numbers(room, half, seed=seed) for seed in (11, 12))  # any numbers rotate
lengths = np.array([(room - rows) // (b + 1) for b in range(asked.batch)], np.int32)
right = k_cache.astype(np.float64)
for b, first in enumerate(lengths):
    low, high = np.split(k_new[b].astype(np.float64), 2, axis=-1)
    c, s = (one[first : first + rows, None].astype(np.float64) for one in (cos, sin))
    right[b, first : first + rows] = np.concatenate([low * c - high * s, high * c + low * s], axis=-1)


def strides(one):
    """Of [batch, row, head, D], in elements."""
    batch, row, head, _ = (step // one.itemsize for step in one.strides)
    return FmhaStridesStruct(row, head, batch)


given = {"k_cache": k_cache, "v_cache": v_cache, "k_new": k_new, "v_new": v_new, "q": q, "o": q}
args = FmhaArgsStruct(
    **{name: one.ctypes.data for name, one in given.items()},
    **{f"{name.removesuffix('_cache')}_strides": strides(one) for name, one in given.items()},
    seqlen_k=lengths.ctypes.data, rotary_cos=cos.ctypes.data, rotary_sin=sin.ctypes.data,
)  # fmt: skip
lib.dispatcher.run(lib.plan(problem.signature, problem.shape, **problem.wishes), args)
checks.near("the cache has the rotated rows, and all others as they were", k_cache, right, 1 / 128)
checks.holds("V is copied", bool((v_cache[0, lengths[0] : lengths[0] + rows] == v_new[0]).all()))
assert q.dtype == ml_dtypes.bfloat16
checks.end()
