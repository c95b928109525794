"""Views of device units → their texts."""

from __future__ import annotations

from ckgen.emit.environment import environment
from ckgen.families.common.device.unit import DeviceUnit


def render_device_unit(unit: DeviceUnit) -> str:
    """The unit's text: its template filled with its values and nothing else."""
    return environment().get_template(unit.template).render(**unit.values)
