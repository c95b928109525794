"""Masks are windows beside a diagonal, which ends at the last key or starts at the first one."""

import gallery

asked = gallery.read(heads="4,2", seqlen="40,56")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
rows, keys = asked.seqlen
for what, said, seen in (
    ("causal, to the last key", {"causal": True}, gallery.window(rows, keys, -1, 0)),
    (
        "causal, from the first key",
        {"causal": True, "top_left": True},
        gallery.window(rows, keys, -1, 0, top_left=True),
    ),
    ("the 16 keys before", {"window": (16, 0)}, gallery.window(rows, keys, 16, 0)),
    ("5 keys on either side", {"window": (5, 5)}, gallery.window(rows, keys, 5, 5)),
):
    checks.near(what, lib.attention(q, k, v, **said), gallery.attention(q, k, v, visible=seen)[0])
seen = gallery.window(rows, keys, 8, 0)
seen[:, :4] = gallery.window(rows, keys, -1, 0)[:, :4]
out = lib.attention(q, k, v, window=(8, 0), sink_tokens=4)
checks.near("8 keys before, and the first 4", out, gallery.attention(q, k, v, visible=seen)[0])
checks.end()
