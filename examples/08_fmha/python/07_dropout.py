"""Dropout by a seed and an offset. With V the identity, O is P itself: each element dropped, or scaled up."""

import gallery
import ml_dtypes
import numpy as np

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
q, k, _ = gallery.operands(asked)
size = asked.hdim[1]
k = np.ascontiguousarray(np.resize(k, (asked.batch, size, *k.shape[2:])))  # as many keys as V has columns
v = np.zeros((asked.batch, size, asked.heads[1], size), ml_dtypes.bfloat16)
v[:, range(size), :, range(size)] = 1
share = 0.25
first = lib.attention(q, k, v, dropout=share, seed=1234).astype(np.float64)
kept = gallery.attention(q, k, v)[0] / (1 - share)
checks.near("an element is 0 or P / (1 - share)", np.where(first == 0, kept, first), kept)
spread = 5 * np.sqrt(share * (1 - share) / first.size)
checks.holds(f"{(first == 0).mean():.4f} are dropped", abs((first == 0).mean() - share) < spread + 1 / 256)
again = lib.attention(q, k, v, dropout=share, seed=1234)
checks.holds("a seed drops the same elements again", bool((again.astype(np.float64) == first).all()))
other = lib.attention(q, k, v, dropout=share, seed=4321)
checks.holds("another one drops others", bool(((other.astype(np.float64) == 0) != (first == 0)).any()))
checks.end()
