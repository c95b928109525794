"""Few queries over many keys: parts of the keys are shared among workgroups or threads, and combined."""

import gallery

import ckgen

asked = gallery.read(batch=1, heads="4,1", seqlen="1,2000", hdim="128")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
right, right_lse = gallery.attention(q, k, v)
said = ckgen.FmhaBuilder().types("bf16").batch(asked.batch).heads(*asked.heads).lse()
problem = said.seqlen(*asked.seqlen).hdim(*asked.hdim).build()
chosen = lib.choice(problem.signature, problem.shape)
print(f"{chosen.instance}, {chosen.k_batch} parts cost least")
for parts in (1, 3, 8):  # a caller's own number
    out, lse = lib.attention(q, k, v, with_lse=True, instance=chosen.instance, k_batch=parts)
    checks.near(f"O of {parts} parts", out, right)
    checks.near(f"lse of {parts} parts", lse, right_lse, 1e-3)
checks.end()
