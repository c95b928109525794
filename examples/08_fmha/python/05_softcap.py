"""Scores are capped smoothly: softcap * tanh(S / softcap), as Gemma 2 has it."""

import gallery

import ckgen

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
seen = gallery.window(*asked.seqlen, -1, 0)
for cap in (0.5, 50.0):
    right = gallery.attention(q, k, v, visible=seen, softcap=cap)[0]
    checks.near(f"capped at {cap}", lib.attention(q, k, v, causal=True, softcap=cap), right)
both = ckgen.FmhaBuilder().types("bf16").heads(4).seqlen(8).hdim(64).softcap().bias()
checks.refused("no softcap beside a bias", both.build)
checks.end()
