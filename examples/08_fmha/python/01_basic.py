"""Tensors in, tensors out; they are read where they are, [batch, row, head, D]."""

import gallery

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
out = lib.attention(q, k, v)
checks.near("O = softmax(scale Q K^T) V", out, gallery.attention(q, k, v)[0])
checks.end()
