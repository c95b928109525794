"""A page in headless Chromium, by the DevTools protocol over a pipe: what it says, asks for, and shows."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str | None:
    """The program; None where none is installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name)) is not None), None)


class Page:
    """A page that is open. `said` are messages and errors of its console, `asked` the addresses that it loaded."""

    def __init__(self, program: str, profile: Path, size: tuple[int, int]) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self._number = 0
        self._rest = b""
        read_ours, write_theirs = os.pipe()
        read_theirs, write_ours = os.pipe()
        self._read, self._write = read_ours, write_ours
        ends = (read_theirs, write_theirs)

        def place() -> None:
            """The browser reads descriptor 3 and writes 4."""
            first, second = (os.dup(end) for end in ends)
            os.dup2(first, 3)
            os.dup2(second, 4)

        command = [program, *_FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place, close_fds=False
        )
        for end in ends:
            os.close(end)
        target = self.call("Target.createTarget", url="about:blank", session=None)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, session: str | None = "", **params: Any) -> Any:
        """What a method of the protocol answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]

    def open(self, file: Path) -> None:
        """Loads a file, and waits until it is there."""
        self.call("Page.navigate", url=file.as_uri())
        while self.value("document.readyState") != "complete":
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """A key, such as Tab or ArrowRight."""
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def scheme(self, name: str) -> None:
        """Prefers `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def resize(self, width: int, height: int) -> None:
        """The size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, top: int = 0, height: int = 900, width: int = 1400) -> bytes:
        """A PNG of a part of the page."""
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._hear(message)
        return message

    def _hear(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
            case "Log.entryAdded":
                self.said.append(params["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.said.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.said.append(str(params["args"]))


@contextmanager
def page(program: str, size: tuple[int, int] = (1400, 900)) -> Iterator[Page]:
    """A page that is closed in the end, with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Page(program, Path(folder), size) as opened:
        yield opened
