"""All mutation operators: what each makes of an instruction, as assembler text of no more bytes than it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ckgen_emulator.mutate import order_operators as order
from ckgen_emulator.mutate import value_operators as value
from ckgen_emulator.mutate.change import Change
from ckgen_emulator.mutate.code import Code

Operator = Callable[[Code, int], Iterator[Change]]

OPERATORS: dict[str, Operator] = {
    one.__name__: one
    for one in (
        order.wait_dropped, order.wait_relaxed, order.barrier_dropped, order.store_dropped, order.load_dropped,
        order.lds_write_dropped, order.release_dropped, order.acquire_dropped, order.scope_narrowed,
        value.lds_offset_shifted, value.memory_offset_shifted, value.matrix_operands_swapped,
        value.accumulator_changed, value.matrix_dropped, value.scale_select_changed, value.scales_swapped,
        value.exec_changed, value.select_swapped, value.comparison_changed, value.conversion_changed,
        value.shift_changed, value.constant_changed, value.permutation_changed, order.wait_state_dropped,
        value.branch_inverted, value.m0_shifted,
    )
}  # fmt: skip
"""By name, in the order of reports."""
