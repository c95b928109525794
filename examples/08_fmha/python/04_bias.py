"""What is added to the scores: a matrix, shared where its size is 1, or slopes per head (ALiBi)."""

import gallery
import numpy as np

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
rows, keys = asked.seqlen
matrix = gallery.numbers(1, asked.heads[0], rows, keys, seed=5)
right = gallery.attention(q, k, v, bias=np.asarray(matrix, np.float64))[0]
checks.near("a matrix per head", lib.attention(q, k, v, bias=matrix), right)

slopes = np.exp2(-8 * np.arange(1, asked.heads[0] + 1) / asked.heads[0]).astype(np.float32)
i, j = np.indices((rows, keys))
distances = -slopes[None, :, None, None].astype(np.float64) * np.abs(i + keys - rows - j)
right = gallery.attention(q, k, v, bias=distances, visible=gallery.window(rows, keys, -1, 0))[0]
checks.near("slopes per head", lib.attention(q, k, v, bias=slopes, causal=True), right)
checks.end()
