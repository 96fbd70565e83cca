# SPDX-License-Identifier: BSD-2-Clause
"""Help texts: one screen or whole, with examples."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator

import click
import pytest
from support.command import options_of, utf8fpga
from support.processes import run

from utf8fpga.cli.main import COMMANDS, GROUPS, cli


def commands(group: click.Group = cli, *path: str) -> Iterator[tuple[str, ...]]:
    """The words of all commands, with each core that a command accepts."""
    context = click.Context(group)
    yield path
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)
            yield from ((*path, name, *words.split()) for words in getattr(command, "commands", ()))


EVERY = list(commands())


def help_of(*words: str, option: str = "-h") -> str:
    done = utf8fpga(*words, option, env=os.environ | {"COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.parametrize("words", EVERY, ids=lambda words: "-".join(words) or "utf8fpga")
def test_the_help_is_one_screen_with_every_option_and_two_examples(words: tuple[str, ...]) -> None:
    lines = help_of(*words).splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 80
    assert set(re.findall(r"--[a-z-]+", "\n".join(lines))) >= options_of(words)
    assert sum(line.startswith("    $ utf8fpga ") for line in lines) == 2
    assert help_of(*words, option="--help").splitlines() == lines


def test_the_examples_of_the_help_are_accepted() -> None:
    every = "\n".join(help_of(*words) for words in EVERY)
    examples = set(re.findall(r"^    \$ utf8fpga (.*)$", every, re.MULTILINE))
    assert len(examples) == 2 * len(COMMANDS), "of the group are two of theirs"
    for line in examples:
        name, *words = shlex.split(line)
        command = cli.get_command(click.Context(cli), name)
        command.make_context(name, words)


def test_a_core_is_a_subcommand_in_the_usage_line() -> None:
    usage = {name: help_of(name).splitlines()[0] for name in COMMANDS}
    with_core = {name: line.partition(f"utf8fpga {name} ")[2] for name, line in usage.items() if "[CORE]" in line}
    assert with_core == {
        "generate": "[CORE] [OPTIONS]",
        "simulate": "[CORE] [OPTIONS] [FILE]",
        "prove": "[CORE] [OPTIONS]",
        "bench": "[CORE] [OPTIONS]",
    }


def test_there_are_at_most_50_options() -> None:
    assert len(set().union(*map(options_of, EVERY)) | {"--help", "--version"}) <= 50


def test_help_has_all_commands_in_groups_with_their_summaries() -> None:
    text = help_of()
    found = re.findall(r"^(\w[\w ]+):\n((?:  [a-z]+ +[A-Z].*\.\n)+)", text, re.MULTILINE)
    assert [heading for heading, _ in found] == ["First steps", "Software", "Hardware", "Boards"]
    rows = [line.split(maxsplit=1) for _, lines in found for line in lines.splitlines()]
    assert rows == [[name, summary] for names in GROUPS.values() for name, summary in names.items()]


def test_help_imports_no_command() -> None:
    program = (
        "import sys; from utf8fpga.cli.main import main\n"
        "try: main(['--help'])\n"
        "finally: print([name for name in sys.modules if name.split('.')[0] in ('amaranth', 'numpy')"
        " or name.startswith(('utf8fpga.hdl', 'utf8fpga.cli.g'))], file=sys.stderr)"
    )
    done = run([sys.executable, "-c", program], capture_output=True)
    assert done.stderr == b"[]\n"
    assert b"generate" in done.stdout
