"""A schema/ops.yaml of a few words, with everything that one can have."""

from __future__ import annotations

from ckgen.emit.ops.description import Description
from ckgen.emit.ops.read import read_description

FILE = "small.yaml"
TEXT = """\
enums:
  Op:
    doc: "What is done; {one} comes first."
    bits: 1
    traits:
      is_one: {type: flag, doc: "Whether it is {one}."}
      is_none: {type: flag, doc: Whether it is nothing.}
    members:
      one: {code: 0, is_one: true}
      two: {code: 1, is_one: false}
  Quant:
    doc: Scales.
    bits: 2
    members:
      none: {code: 0}
      rows: {code: 1}
      blocks: {code: 2, text: tiles}
  DType:
    doc: A type.
    bits: 3
    traits:
      bits: {type: int, doc: Its bits.}
      word: {type: text, doc: Its word.}
      flip: {type: Quant, doc: Another one.}
    members:
      x16: {code: 0, bits: 16, word: half}
      y8: {code: 1, bits: 8}
      x8: {code: 2, bits: 8, flip: {rows: y8, none: x8}}
      none: {code: 3, bits: 0, cpp_only: true}
sizes:
  rung: {bits: 2, values: [64, 32, 16], doc: Elements of a block.}
numbers:
  most: {value: 5, doc: The most.}
key:
  bits: 13
  parts:
    - at: 0
      of: both
      fields: {a: DType, op: Op, b: DType}
    - at: 7
      of: [one]
      fields: {quant: Quant, batched: flag, block: rung}
    - at: 7
      of: [two]
      fields: {preshuffle_b: flag}
names:
  - of: [one]
    words:
      - {field: quant, prefix: by_, always: true}
      - {field: batched, word: batched, in_alias: true}
sets:
  both: {of: Op, members: [one, two]}
  eights: {of: DType, members: [x8, y8]}
usual:
  b:
    - {when: {a: x16, quant: [rows, blocks]}, is: x16}
    - {when: {a: eights}, is: y8}
    - {is: none}
aliases:
  plain: {operands: [x8, y8], operand: x8, out: x16}
  many: {operands: [x16], out: y8, quant: rows, preshuffle_b: true, batched: true}
counted:
  steps: Steps.
signature_rules:
  one.b:
    of: [one]
    sentence: "with {a}, B is {allowed}; {eights}; {rung}; {most}; {steps}"
    cases:
      - usual: b
  two.types:
    of: both
    sentence: "A is {allowed}"
    when: {steps: 31, b: not =a}
    must: {a: "not [y8, none]"}
  two.batch:
    of: [two]
    cpp_only: true
    sentence: no batch
    must: [{batched: false, block: rung}, {steps: 0}, {b: =a}]
problem_rules:
  one.m: {sentence: "M = {measured} is below {limit}", size: m, must: at_least, value: 1}
  one.k: {sentence: "K = {measured}", size: k, must: multiple_of, value: 2, when: {quant: rows, batched: true}}
  last: {sentence: nothing was built}
fmha_builder:
  setters: [one, two, three]
  contradictions:
    build.none: {without: [one, two], sentence: say one}
    build.both: {said: [one, three], sentence: not both}
  advice:
    one.b: say another B
    last: build it
"""


def small() -> Description:
    """What the text says."""
    found = read_description(TEXT, FILE)
    assert isinstance(found, Description), found
    return found
