"""--signatures, --kernels and --backend: what they leave out, and whether each of them fits anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ckgen.families.common.naming import instance_name
from ckgen.families.common.signature import Signature
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic, Severity
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import nearest_names
from ckgen.plan.options import PlanOptions

_SEE = "see `ckgen list instances` with the same --targets and --ops"


@dataclass(slots=True)
class Glob:
    """One glob of an option, and whether any name that was asked about fits it."""

    text: str
    has_fitted: bool = False

    def fits(self, name: str) -> bool:
        """Whether a name fits; remembered where it does."""
        fitting = fnmatchcase(name, self.text)
        self.has_fitted |= fitting
        return fitting


@dataclass(slots=True)
class Filters:
    """The filters of one plan, and the names that they were asked about; `has_kept`: any kernel. Not thread-safe."""

    backends: frozenset[str] = frozenset()
    signatures: tuple[Glob, ...] = ()
    kernels: tuple[Glob, ...] = ()
    has_kept: bool = False
    _signature_names: dict[str, bool] = field(default_factory=dict)
    _kernel_names: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, options: PlanOptions) -> Filters:
        """Those of the options."""
        return cls(options.backends, tuple(map(Glob, options.signatures)), tuple(map(Glob, options.kernels)))

    @property
    def keep_all(self) -> bool:
        """Whether there are none."""
        return not (self.backends or self.kernels or self.signatures)

    def keeps(self, signature: Signature) -> bool:
        """Whether a signature is among those that are asked for."""
        if not self.signatures:
            return True
        name = signature.canonical()
        if name not in self._signature_names:
            self._signature_names[name] = _fit(self.signatures, (name,))
        return self._signature_names[name]

    def why_left_out(self, signatures: Collection[Signature], config: Config, table_kernel: str = "") -> str | None:
        """Why a kernel is left out for all of these signatures, or None.

        A glob of --kernels is of the table's name, of the Config's or of an instance's.
        """
        if self.keep_all:
            return None
        kept = [signature for signature in signatures if self.keeps(signature)]
        named = not self.kernels or _fit(self.kernels, self._names(signatures, config, table_kernel))
        if self.backends and str(config.backend) not in self.backends:
            return f"--backend leaves out {config.backend}"
        if not named:
            return "no --kernels glob fits"
        if self.signatures and not kept:
            return "no --signatures glob fits"
        self.has_kept = True
        return None

    def demand_fits(self) -> tuple[Diagnostic, ...]:
        """Warnings (P005) of globs that fit no name; UsageError where no glob of an option does.

        All names must have been asked about.
        """
        found: list[Diagnostic] = []
        wrong: list[str] = []
        for option, noun, globs, names in (
            ("--signatures", "signature", self.signatures, self._signature_names),
            ("--kernels", "kernel", self.kernels, self._kernel_names),
        ):
            unfit = [*_unfit(option, noun, globs, names)]
            if unfit and len(unfit) == len(globs):
                wrong += unfit
            else:
                found += (Diagnostic("P005", text, hint=_SEE, severity=Severity.WARNING) for text in unfit)
        if wrong:
            raise UsageError("\n".join([*wrong, _SEE]))
        return tuple(found)

    def demand_any(self, *, found: bool) -> None:
        """UsageError where nothing was `found` and globs leave no kernel together, though each fits something."""
        options = (("--backend", self.backends), ("--kernels", self.kernels), ("--signatures", self.signatures))
        given = [word for word, filters in options if filters]
        if (self.kernels or self.signatures) and not found and not self.has_kept:
            raise UsageError(
                f"{' and '.join(given)} leave{'s' if len(given) == 1 else ''} no kernel of what is asked for; {_SEE}"
            )

    def _names(self, signatures: Iterable[Signature], config: Config, table_kernel: str) -> Iterator[str]:
        text = table_kernel or config.text()
        self._kernel_names.add(text)
        yield text
        if table_kernel:
            yield config.text()
        for signature in signatures:
            yield instance_name(signature, config.backend, config)


def _fit(globs: Iterable[Glob], names: Iterable[str]) -> bool:
    """Whether any name fits any glob; every glob that has not fitted yet is asked about every name."""
    found = False
    for name in names:
        for glob in globs:
            if (not found or not glob.has_fitted) and glob.fits(name):
                found = True
        if found and all(glob.has_fitted for glob in globs):
            break
    return found


def _unfit(option: str, noun: str, globs: Iterable[Glob], names: Collection[str]) -> Iterator[str]:
    for glob in globs:
        if not glob.has_fitted:
            nearest = ", ".join(f"'{name}'" for name in nearest_names(glob.text, names))
            near = f"; the nearest are {nearest}" if nearest else ""
            yield f"{option} '{glob.text}' fits none of {len(names):,} {noun}s{near}"
