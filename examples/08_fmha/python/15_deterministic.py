"""The same bits in every run and on any number of threads, and whatever sequences stand beside."""

import gallery
import numpy as np

asked = gallery.read(heads="8,2", seqlen="64,300")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
first = lib.attention(q, k, v, causal=True, deterministic=True)
checks.near("causal", first, gallery.attention(q, k, v, visible=gallery.window(*asked.seqlen, -1, 0))[0])
bits = first.view(np.uint16)
again = lib.attention(q, k, v, causal=True, deterministic=True)
checks.holds("two runs are the same bits", np.array_equal(again.view(np.uint16), bits))
one = lib.attention(q, k, v, causal=True, deterministic=True, num_threads=1)
checks.holds("and one thread gives them too", np.array_equal(one.view(np.uint16), bits))
many = lib.attention(q, k, v, causal=True, batch_invariant=True)
alone = lib.attention(q[:1], k[:1], v[:1], causal=True, batch_invariant=True)
checks.holds("a sequence alone is as among others", np.array_equal(alone.view(np.uint16), many[:1].view(np.uint16)))
checks.end()
