"""A line of a file decides for one problem, without a rebuild."""

import tempfile
from pathlib import Path

import gallery

import ckgen

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
shape = ckgen.FmhaShape(asked.batch, *asked.heads, *asked.seqlen, *asked.hdim)
usual = lib.choice("fmha_bf16", shape).instance
other = next(
    name for name in lib.dispatcher.enumerate(lib.library.fmha_problem("fmha_bf16", shape), lib.device) if name != usual
)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "override.csv"
    sizes = [asked.batch, *asked.seqlen, asked.hdim[0], *asked.heads, asked.hdim[1]]
    row = ",".join(map(str, [lib.device.target, "fmha_bf16", *sizes, "none", other, 1]))
    file.write_text(f"target,signature,B,M,N,K,heads_q,heads_k,hdim_v,mask,instance,k_batch\n{row}\n")
    lib.load_overrides(file)
found = lib.choice("fmha_bf16", shape)
checks.holds(f"{other} instead of {usual}", found.instance == other and found.tier.value == "override")
checks.near("overridden", lib.attention(q, k, v), gallery.attention(q, k, v)[0])
checks.end()
