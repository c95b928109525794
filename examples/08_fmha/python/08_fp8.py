"""Q, K and V in e4m3 with a descale each, O in bf16."""

import gallery
import ml_dtypes
import numpy as np

asked = gallery.read(seqlen="64", hdim="128")
lib, checks = asked.load(), gallery.Checks()
fp8 = ml_dtypes.float8_e4m3fn if asked.target is None else ml_dtypes.float8_e4m3fnuz  # OCP's, or gfx942's
q, k, v = gallery.operands(asked, fp8)
scales = [np.array([one], np.float32) for one in (0.5, 2.0, 0.25)]
out = lib.attention(q, k, v, q_descale=scales[0], k_descale=scales[1], v_descale=scales[2])
wide = [one.astype(np.float64) * scale for one, scale in zip((q, k, v), scales, strict=True)]
checks.near("e4m3 with descales", out, gallery.attention(*wide)[0])
checks.refused("8 bits have descales", lambda: lib.attention(q, k, v))
checks.end()
