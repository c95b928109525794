"""Attention sinks: a logit per query head that takes a share of the softmax and has no value, as gpt-oss has it."""

import gallery
import numpy as np

asked = gallery.read(heads="8,1")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
sinks = np.linspace(-1, 2, asked.heads[0], dtype=np.float32)
right = gallery.attention(q, k, v, visible=gallery.window(*asked.seqlen, 15, 0), sink=sinks)[0]
checks.near("sinks beside a window", lib.attention(q, k, v, window=(15, 0), sink=sinks), right)
checks.end()
