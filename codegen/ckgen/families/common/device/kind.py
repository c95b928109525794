"""What a kind of instances offers as device code, and one instance of it as a build sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ckgen.families.common.device.unit import DeviceUnit, Identified, Use, Variant, symbol_of
from ckgen.model.expectation import Expectation

I = TypeVar("I", bound=Identified)  # noqa: E741
V = TypeVar("V", bound=Variant)


class DeviceCode(Protocol):
    """An instance as device code; variants that are handed in are its own, else TypeError."""

    def unavailable(self, arch: str) -> str | None:
        """Why the code cannot be made for an arch, or None."""
        ...

    def splits_unavailable(self, arch: str) -> str | None:
        """Why it can, but not with K splits; None where it can with them."""
        ...

    def reachable(self, uses: Iterable[Use]) -> tuple[Variant, ...]:
        """The variants that these problems reach, by name."""
        ...

    def all_variants(self) -> tuple[Variant, ...]:
        """Those that any supported problem reaches."""
        ...

    def device_unit(self, variants: Sequence[Variant]) -> DeviceUnit:
        """The unit that holds the given variants."""
        ...

    def host_unit(self, variants: Mapping[str, Sequence[Variant]]) -> DeviceUnit:
        """The host unit; `variants` are those of each arch's code object."""
        ...

    def expected(self, arch: str, variant: Variant) -> Expectation:
        """What the machine code of a variant must look like."""
        ...

    def symbol(self, variant: Variant) -> str:
        """Its kernel's name in the code object."""
        ...


def _splits(instance: object, arch: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class DeviceKind(Generic[I, V]):
    """How instances of type I become device code in variants of type V, each function as DeviceCode says it.

    `variants` are the classes that V stands for. Without `reachable` any problem reaches all variants.
    """

    variants: tuple[type[V], ...]
    unavailable: Callable[[I, str], str | None]
    all_variants: Callable[[I], Sequence[V]]
    device_unit: Callable[[I, Sequence[V]], DeviceUnit]
    host_unit: Callable[[I, Mapping[str, Sequence[V]]], DeviceUnit]
    expected: Callable[[I, str, V], Expectation]
    reachable: Callable[[I, Iterable[Use]], Sequence[V]] | None = None
    splits_unavailable: Callable[[I, str], str | None] = _splits
    symbol: Callable[[I, V], str] = symbol_of

    def of(self, instance: I) -> DeviceCode:
        """The instance as device code of this kind."""
        return _CodeOf(self, instance)

    def own(self, variants: Iterable[Variant]) -> tuple[V, ...]:
        """The variants, in their order; TypeError for one of another kind."""
        found: list[V] = []
        for variant in variants:
            if not isinstance(variant, self.variants):
                raise TypeError(f"{variant.name} is no variant of this kind of instances")
            found.append(variant)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _CodeOf(Generic[I, V]):
    kind: DeviceKind[I, V]
    instance: I

    def unavailable(self, arch: str) -> str | None:
        return self.kind.unavailable(self.instance, arch)

    def splits_unavailable(self, arch: str) -> str | None:
        return self.kind.splits_unavailable(self.instance, arch)

    def reachable(self, uses: Iterable[Use]) -> tuple[Variant, ...]:
        return self.all_variants() if self.kind.reachable is None else tuple(self.kind.reachable(self.instance, uses))

    def all_variants(self) -> tuple[Variant, ...]:
        return tuple(self.kind.all_variants(self.instance))

    def device_unit(self, variants: Sequence[Variant]) -> DeviceUnit:
        return self.kind.device_unit(self.instance, self.kind.own(variants))

    def host_unit(self, variants: Mapping[str, Sequence[Variant]]) -> DeviceUnit:
        own = {arch: self.kind.own(of_arch) for arch, of_arch in variants.items()}
        return self.kind.host_unit(self.instance, own)

    def expected(self, arch: str, variant: Variant) -> Expectation:
        (own,) = self.kind.own((variant,))
        return self.kind.expected(self.instance, arch, own)

    def symbol(self, variant: Variant) -> str:
        (own,) = self.kind.own((variant,))
        return self.kind.symbol(self.instance, own)
