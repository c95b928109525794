"""One line on a terminal, lines every few seconds elsewhere, and nothing of what is quick."""

from __future__ import annotations

import io
import re
import threading
import time

from ckgen.progress import Progress


class Stream(io.StringIO):
    """A stream that is a terminal or not, and tells when it was written to."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.written = threading.Semaphore(0)

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.release()
        return done

    def wait(self, lines: int) -> None:
        for _ in range(lines):
            assert self.written.acquire(timeout=60)


def test_off_a_terminal_a_step_is_said_again_and_again_with_its_seconds() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.step("configuring")
    stream.wait(2)
    line.step("compiling")
    while "compiling" not in stream.getvalue():
        stream.wait(1)
    line.clear()
    said = stream.getvalue().splitlines()
    assert said[0] == "configuring, 0 s" and re.fullmatch("configuring, [1-9][0-9]* s", said[1])
    assert re.fullmatch("compiling, [1-9][0-9]* s", said[-1])


def test_off_a_terminal_a_count_is_said_once() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.show("1 of 2")
    stream.wait(1)
    time.sleep(0.1)
    line.show("2 of 2")
    stream.wait(1)
    line.clear()
    assert stream.getvalue() == "1 of 2\n2 of 2\n"


def test_what_ends_before_the_first_line_says_nothing() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=3600)
    line.step("reading")
    line.clear()
    assert stream.getvalue() == "" and not [one for one in threading.enumerate() if one is line._thread]


def test_after_a_clear_it_is_quiet_until_the_next_step() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.step("one")
    stream.wait(1)
    line.clear()
    length = len(stream.getvalue())
    time.sleep(0.1)
    assert len(stream.getvalue()) == length
    line.step("two")
    while "two" not in stream.getvalue():
        stream.wait(1)
    line.clear()


def test_on_a_terminal_one_line_is_written_over() -> None:
    stream = Stream(terminal=True)
    line = Progress(stream)
    line.clear()
    line.step("configuring")
    for count in range(1000):
        line.show(f"{count} of 1000")
    line.clear()
    said = stream.getvalue().split("\r\x1b[K")
    assert said[:2] == ["", "configuring …"] and said[-1] == "" and len(said) < 20 and "\n" not in stream.getvalue()
