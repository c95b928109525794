"""What a library has, as one JSON document; and which of it answers a problem."""

import json

import gallery

import ckgen

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()
document = lib.library.registry_json([gallery.NAME])
rows = json.loads(document)["instances"]
print(f"{len(rows)} instances, {len(document):,} bytes of JSON")
checks.holds("as many as the dispatcher has", len(rows) == len(list(lib.dispatcher.instances())))
checks.holds("every id once", len({one["id"] for one in rows}) == len(rows))
shape = ckgen.FmhaShape(asked.batch, *asked.heads, *asked.seqlen, *asked.hdim)
chosen = lib.choice("fmha_bf16_masked", shape).instance
checks.holds(f"{chosen} is among them", any(one["name"] == chosen for one in rows))
q, k, v = gallery.operands(asked)
right = gallery.attention(q, k, v, visible=gallery.window(*asked.seqlen, -1, 0))[0]
checks.near("it runs by its name", lib.attention(q, k, v, causal=True, instance=chosen), right)
checks.end()
