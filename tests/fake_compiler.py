"""A toolchain whose compiler is a small script that does what the source's comments say; for tests of what runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain, CkTree, Kind
from ckgen.build.job import Job, Root

_SCRIPT = '''#!{python} -IS
"""Compiles, assembles: copies its input; links: copies the given object. `// do` lines of the source steer it."""
import os, signal, sys, time
words = sys.argv[1:]
out = words[words.index("-o") + 1]
source = words[-1]
text = open(source).read()
with open({log!r}, "a") as file:
    file.write(os.path.basename(source) + " " + str(os.getpid()) + "\\n")
if source.endswith((".hip", ".S")):
    for line in text.splitlines():
        what = line.removeprefix("// do ").split() if line.startswith("// do ") else [""]
        if what[0] == "sleep":
            time.sleep(float(what[1]))
        elif what[0] == "print":
            print(" ".join(what[1:]), file=sys.stderr)
        elif what[0] == "exit":
            sys.exit(int(what[1]))
        elif what[0] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what[0] == "hold":
            block = bytearray(int(what[1]) << 20)
            for at in range(0, len(block), 4096):
                block[at] = 1
        elif what[0] == "nothing":
            sys.exit(0)
    headers = [line.split()[2] for line in text.splitlines() if line.startswith("// include ")]
    with open("unit.d", "w") as file:
        file.write("unit.o: " + " \\\\\\n ".join([source, *headers]) + "\\n")
given = {given!r}
if "-shared" in words and os.path.exists(given):
    import shutil
    shutil.copyfile(given, out)
else:
    with open(out, "w") as file:
        file.write("made of " + text)
'''


class FakeCompiler:
    """The script in a folder, and how often it ran; what stands in `linked` is what its linker writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = folder / "log.txt"
        self.linked = folder / "linked.bin"
        self.program = folder / "cc"
        if not self.program.exists():
            self.program.write_text(
                _SCRIPT.format(python=sys.executable, log=str(self.log), given=str(self.linked)), encoding="utf-8"
            )
            self.program.chmod(0o755)

    @property
    def runs(self) -> list[str]:
        """The sources that were worked on, in order."""
        return [line.split()[0] for line in self._lines()]

    @property
    def pids(self) -> list[int]:
        """The processes that did."""
        return [int(line.split()[1]) for line in self._lines()]

    def job(
        self,
        text: str,
        *,
        label: str = "unit",
        fixed: tuple[Root, ...] = (),
        own: tuple[Path, ...] = (),
        depfile: str = "unit.d",
    ) -> Job:
        """One compile of the text into unit.o."""
        return Job(
            label=label,
            family="host/fake",
            text=text,
            source="unit.hip",
            steps=((str(self.program), "-c", "-o", "unit.o", "unit.hip"),),
            outputs=("unit.o",),
            depfile=depfile,
            identity=("fake",),
            roots=(Root("tools", self.folder),),
            fixed=fixed,
            own=own,
        )

    def toolchain(self) -> AmdToolchain:
        """A toolchain that runs the script for every step."""
        return AmdToolchain(
            kind=Kind.PINNED,
            root=self.folder,
            prefix=self.folder,
            compiler=(str(self.program),),
            linker=(str(self.program),),
            hip=(),
            cpp=(),
            own=(),
            ck=CkTree((self.folder / "ck",), "tree"),
            decoder=None,
            compiler_version="fake 1.0",
            compiler_id="fake",
            headers_id="none",
            libstdcxx=None,
        )

    def _lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
