"""pins.json names archives exactly."""

from __future__ import annotations

import re

from ckgen.build.amd.pins import Role, pins, wanted


def test_every_role_has_one_package() -> None:
    assert set(pins()) == set(Role)


def test_hashes_and_file_names_are_exact() -> None:
    for pin in pins().values():
        assert re.fullmatch(r"[0-9a-f]{64}", pin.sha256)
        assert pin.file.startswith(f"{pin.name.replace('-', '_')}-{pin.version}")
        assert pin.is_sdist or pin.file.endswith(".whl")
    assert len({pin.sha256 for pin in pins().values()}) == len(pins())


def test_optional_packages_are_wanted_when_asked_for() -> None:
    assert Role.OLDER_CK not in {Role(pin.role) for pin in wanted()}
    assert {Role(pin.role) for pin in wanted(frozenset([Role.OLDER_CK]))} == set(Role)
