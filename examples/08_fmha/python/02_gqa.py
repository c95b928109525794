"""Query heads share KV heads, which nobody repeats in memory."""

import gallery

asked = gallery.read(heads="8,2")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
checks.near("groups of heads", lib.attention(q, k, v), gallery.attention(q, k, v)[0])
k, v = k[:, :, :1], v[:, :, :1]  # a view: strides say where rows are
checks.near("one KV head", lib.attention(q, k, v), gallery.attention(q, k, v)[0])
checks.end()
