"""A profile says what a library has (gallery.yaml is this one's): what it leaves out is refused with the reason."""

import gallery

import ckgen

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
has = {one.signature for one in lib.dispatcher.instances()}
checks.holds("V is by rows in all", not any("vcolumn" in one for one in has))
of_ck = {one.backend for one in lib.dispatcher.instances()}
checks.holds(f"of {', '.join(sorted(of_ck))}", of_ck <= {"host", "ck_tile", "hip"})
said = ckgen.FmhaBuilder().types("bf16").heads(*asked.heads).seqlen(*asked.seqlen).hdim(*asked.hdim).v_column().build()
checks.refused("V by columns is left out", lambda: lib.plan(said.signature, said.shape))
checks.end()
