"""Runs commands of ckgen, one after the other, and prints what they print as JSON.

usage: run_commands.py COMMANDS, a JSON list of lists of words
"""

from __future__ import annotations

import json
import sys

from click.testing import CliRunner

from ckgen.cli import cli


def main(commands: list[list[str]]) -> None:
    said = []
    for words in commands:
        done = CliRunner().invoke(cli, words)
        if done.exit_code != 0:
            sys.exit(done.output)
        said.append(done.stdout)
    print(json.dumps(said))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
