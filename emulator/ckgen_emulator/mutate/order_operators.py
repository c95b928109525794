"""Mutation operators on order and presence: waits, barriers, scopes, wait states, and accesses that do not happen."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckgen_emulator.mutate.change import Change, line, operands
from ckgen_emulator.mutate.code import Code, Instruction

_MOST = {"vmcnt": 63, "lgkmcnt": 15}
_COUNTER = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")
_LOOK_BACK = 3
_TRANSCENDENTAL = frozenset({"v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_sqrt_f32"})


def wait_dropped(code: Code, index: int) -> Iterator[Change]:
    """An s_waitcnt without one of its counters."""
    text = code.instructions[index].text
    if not text.startswith("s_waitcnt "):
        return
    counters = _COUNTER.findall(text)
    for dropped, _ in counters:
        left = " ".join(f"{name}({count})" for name, count in counters if name != dropped)
        yield Change((f"s_waitcnt {left}" if left else "s_nop 0",))


def wait_relaxed(code: Code, index: int) -> Iterator[Change]:
    """An s_waitcnt that lets one more operation be under way."""
    text = code.instructions[index].text
    if text.startswith("s_waitcnt "):
        for name, count in _COUNTER.findall(text):
            if int(count) < _MOST[name]:
                yield Change((text.replace(f"{name}({count})", f"{name}({int(count) + 1})"),))


def barrier_dropped(code: Code, index: int) -> Iterator[Change]:
    """No s_barrier."""
    if code.instructions[index].name == "s_barrier":
        yield Change(("s_nop 0",))


def store_dropped(code: Code, index: int) -> Iterator[Change]:
    """No store, or no atomic without a result."""
    if re.match(r"(global|buffer|flat)_(store|atomic)_", code.instructions[index].text):
        yield Change(("s_nop 0",))


def lds_write_dropped(code: Code, index: int) -> Iterator[Change]:
    """No write to LDS."""
    if code.instructions[index].name.startswith("ds_write"):
        yield Change(("s_nop 0",))


def load_dropped(code: Code, index: int) -> Iterator[Change]:
    """No load, from memory or from LDS."""
    if re.match(r"(global|buffer|flat|s)_load_|ds_read", code.instructions[index].text):
        yield Change(("s_nop 0",))


def release_dropped(code: Code, index: int) -> Iterator[Change]:
    """No write back of the L2."""
    if code.instructions[index].name == "buffer_wbl2":
        yield Change(("s_nop 0",))


def acquire_dropped(code: Code, index: int) -> Iterator[Change]:
    """No invalidation of caches."""
    if code.instructions[index].name == "buffer_inv":
        yield Change(("s_nop 0",))


def scope_narrowed(code: Code, index: int) -> Iterator[Change]:
    """sc1 cleared."""
    text = code.instructions[index].text
    if re.search(r" sc1\b", text):
        yield from line(re.sub(r" sc1\b", "", text))


def wait_state_dropped(code: Code, index: int) -> Iterator[Change]:
    """Wait states of an s_nop away: all but one, or the last one by exchange with the instruction before.

    Where the ISA documents ask for them (4.5 "Manually Inserted Wait States", 7.5 on MFMAs), which is in fewer places
    than those where the compiler puts them.
    """
    one = code.instructions[index]
    if one.name != "s_nop" or index + 1 >= len(code.instructions):
        return
    states = int(one.text.split()[1]) + 1
    follower = code.instructions[index + 1]
    for back in range(1, min(index, _LOOK_BACK) + 1):
        first = code.instructions[index - back]
        if first.target is not None or code.instructions[index - back + 1].address in code.targets:
            return
        if not _documented(first, follower):
            continue
        if states > 1:
            yield Change(("s_nop 0",))
        elif back == 1:
            yield Change((one.text, first.text), before=1)
        return


def _documented(first: Instruction, then: Instruction) -> bool:
    """Whether the documents ask for wait states between the two."""
    results, used = _registers(operands(first.text)[1][0]), _registers(then.text)
    if not first.text.startswith("v_") or not results & used:
        return False
    if first.text.startswith("v_mfma"):
        return re.match(r"(global|buffer|ds)_(load|read)", then.text) is None
    sources = _registers(then.text.partition(", ")[2])
    if first.name in _TRANSCENDENTAL:
        return then.text.startswith("v_") and bool(results & sources)
    crosses = (
        then.name.startswith(("v_readlane", "v_readfirstlane")) or " row_" in then.text or "quad_perm" in then.text
    )
    return crosses and bool(results & sources)


def _registers(text: str) -> frozenset[str]:
    """The vector registers that a text names."""
    found = set(re.findall(r"\b[va]\d+\b", text))
    for file, first, last in re.findall(r"\b([va])\[(\d+):(\d+)\]", text):
        found |= {f"{file}{number}" for number in range(int(first), int(last) + 1)}
    return frozenset(found)
