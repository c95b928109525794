"""Downloads a pinned archive with pip, so that the user's index, proxy and certificates hold, and checks its sha256."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ckgen.build.packages.errors import toolchain_error
from ckgen.build.packages.pin import Pin
from ckgen.model.errors import UsageError

_TAIL = 15
_UNFINISHED = ".part-"


def fetch(pin: Pin, downloads: Path) -> Path:
    """The archive in `downloads`; one that is there with the right sha256 is not downloaded again.

    UsageError in a Python without pip; InputError X002 when pip fails, X003 when what came is not what was pinned.
    """
    archive = downloads / pin.file
    if archive.is_file():
        if digest_of(archive) == pin.sha256:
            return archive
        archive.unlink()
    if importlib.util.find_spec("pip") is None:
        raise UsageError(
            f"{sys.executable} has no pip, which downloads the toolchain: `{sys.executable} -m ensurepip`, "
            f"or put {pin.file} into {downloads}"
        )
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads, prefix=_UNFINISHED) as part:
        _pip_download(pin, Path(part))
        got = Path(part, pin.file)
        if not got.is_file():
            raise toolchain_error(
                "X002", f"pip did not save {pin.file}", hint="is another file of that version pinned?"
            )
        if digest_of(got) != pin.sha256:
            raise toolchain_error("X003", f"its sha256 is not the pinned one, {pin.sha256}", got, hint="try again")
        got.replace(archive)
    return archive


def clear_unfinished(downloads: Path) -> None:
    """Removes what killed runs left; for the holder of the prefix's lock."""
    for folder in downloads.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(folder, ignore_errors=True)


def digest_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pip_download(pin: Pin, folder: Path) -> None:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes", "--no-cache-dir"]
    command += ["--progress-bar", "off", "--disable-pip-version-check", "--dest", str(folder), "-r", str(requirements)]
    environment = dict(os.environ)
    if pin.is_sdist:
        command += ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517"]
        known = environment.get("PYTHONPATH")
        backend = str(Path(__file__).with_name("sdist_backend"))
        environment["PYTHONPATH"] = os.pathsep.join([backend, *([known] if known else [])])
    else:
        command += ["--only-binary", ":all:"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise toolchain_error(
            "X002",
            f"pip could not download {pin.name} {pin.version} (exit code {done.returncode})",
            detail=lines[-_TAIL:],
            hint=f"the command was: {' '.join(command)}",
        )
