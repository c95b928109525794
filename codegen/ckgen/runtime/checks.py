"""What must hold of a call's tensors whatever the operation: where they are, what is written, what is aligned."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ckgen.runtime.handles import Device, Plan
from ckgen.tensors.errors import DeviceMismatch, Misaligned, ReadOnlyOutput, ShapeMismatch
from ckgen.tensors.overlap import refuse_overlap, refuse_own_overlap
from ckgen.tensors.view import Place, PlaceKind, TensorView

WORKSPACE = "workspace"
WORKSPACE_ALIGNMENT = 64
_PACKED_ALIGNMENT = 1


def check_tensors(views: Mapping[str, TensorView], written: Collection[str], device: Device) -> Place:
    """The place of all of them; a TensorError says what is wrong first."""
    place = _place_of(views, device)
    for view in views.values():
        align = alignment(view)
        if view.size and view.address % align:
            raise Misaligned(f"{view.name} begins at {view.address:#x}, which is no multiple of {align} bytes: copy it")
    for name in (*written, WORKSPACE):
        if name not in views:
            continue
        one = views[name]
        if one.read_only:
            raise ReadOnlyOutput(
                f"{name} is written and its memory is read-only: give a copy, or set its writeable flag"
            )
        refuse_own_overlap(one)
        for other in views.values():
            if other is not one:
                refuse_overlap(one, other)
    return place


def alignment(view: TensorView) -> int:
    """Bytes that its address must be a multiple of."""
    return WORKSPACE_ALIGNMENT if view.name == WORKSPACE else max(view.itemsize, _PACKED_ALIGNMENT)


def check_workspace(views: Mapping[str, TensorView], plan: Plan) -> None:
    """ShapeMismatch for a workspace that is too small."""
    given = views.get(WORKSPACE)
    if given is not None and (given.extent < plan.workspace_size or not given.is_contiguous):
        raise ShapeMismatch(
            f"workspace holds {given.extent} bytes, and the plan asks for {plan.workspace_size} without gaps"
        )


def _place_of(views: Mapping[str, TensorView], device: Device) -> Place:
    wanted = f"CPU memory, as {device} reads it" if not device.is_gpu else f"the memory of GPU {device.index}, {device}"
    for view in views.values():
        is_cpu = view.place.kind is PlaceKind.CPU
        if is_cpu is device.is_gpu or (device.is_gpu and view.place.index != device.index):
            raise DeviceMismatch(
                f"{view.name} is on {view.place}, and {wanted}, is asked for: move it, or use_device()"
            )
    return next(iter(views.values())).place
