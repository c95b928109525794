"""Libraries are values: each has a registry, a dispatcher and a device of its own."""

import gallery

import ckgen

asked = gallery.read(hdim="128")
here, checks = asked.load(), gallery.Checks()
there = ckgen.load(asked.library, [gallery.NAME], "gfx942:304")  # its choices; twins of its kernels run on this CPU
q, k, v = gallery.operands(asked)
right = gallery.attention(q, k, v)[0]
shape = ckgen.FmhaShape(asked.batch, *asked.heads, *asked.seqlen, *asked.hdim)
for lib in (here, there):
    print(lib.choice("fmha_bf16", shape).instance)
    checks.near(str(lib.device), lib.attention(q, k, v), right)
here.use("gfx942:304")
chosen = [lib.choice("fmha_bf16", shape).instance for lib in (here, there)]
checks.holds("on one device they choose alike", chosen[0] == chosen[1])
checks.end()
