"""Classic ck instances' host units: which kernel each problem takes, by the op's own host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of
from ckgen.families.gemm.device.ck import op_values
from ckgen.families.gemm.device.ck_variants import CkVariant, all_variants
from ckgen.families.gemm.instance import Instance


def host_unit(instance: Instance, variants: Mapping[str, Sequence[CkVariant]]) -> DeviceUnit:
    """The host unit where the code object of each arch of `variants` holds its variants.

    It lists every variant that the instance can reach, so that one which was not compiled is refused by name.
    """
    rows = [
        {
            "symbol": symbol_of(instance, variant),
            "name": variant.name,
            "spec": variant.spec.value,
            "hot": "true" if variant.hot else "false",
            "tail": variant.tail.value,
            "write": "AtomicAdd" if variant.add else "Set",
            "archs": sorted(arch for arch, compiled in variants.items() if variant in compiled),
        }
        for variant in sorted({*all_variants(instance), *(one for each in variants.values() for one in each)})
    ]
    prepare = prepare_symbol(instance.id)
    values = {"instance": instance.name, "prepare": prepare, "variants": rows, **op_values(instance)}
    return DeviceUnit("device/ck_host.cpp.j2", values, (prepare,))
