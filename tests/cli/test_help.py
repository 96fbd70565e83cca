# SPDX-License-Identifier: BSD-2-Clause
"""Help texts, completion by the shells, and the manual page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.command import utf8fpga
from support.processes import run
from support.site import CHECKOUT, DOCS

from utf8fpga import __version__
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


def help_of(*words: str, option: str = "--help") -> str:
    done = utf8fpga(*words, option, env=os.environ | {"COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def options_of(words: tuple[str, ...]) -> set[str]:
    """The options of a command, but those for help."""
    context = click.Context(cli)
    command = cli.get_command(context, words[0]) if words else cli
    command = getattr(command, "commands", {}).get(words[1]) if len(words) > 1 else command
    named = {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("--")}
    return named - {"--version"}


@pytest.mark.parametrize("words", EVERY, ids=lambda words: "-".join(words) or "utf8fpga")
def test_short_help_is_one_screen_and_names_every_option(words: tuple[str, ...]) -> None:
    lines = help_of(*words, option="-h").splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "..." not in "\n".join(lines[1:]), "a text is cut off"
    assert set(re.findall(r"--[a-z-]+", "\n".join(lines))) >= options_of(words)
    assert sum(line.startswith("  $ utf8fpga ") for line in lines) == 2


@pytest.mark.parametrize("words", EVERY, ids=lambda words: "-".join(words) or "utf8fpga")
def test_whole_help_has_two_examples_and_is_at_most_80_columns_wide(words: tuple[str, ...]) -> None:
    text = help_of(*words)
    assert max(map(len, text.splitlines())) <= 80
    assert set(re.findall(r"--[a-z-]+", text)) >= options_of(words)
    assert len(re.findall(r"^  \$ utf8fpga ", text, re.MULTILINE)) == 2


def test_the_examples_of_the_help_are_accepted() -> None:
    examples = {line for words in EVERY for line in re.findall(r"^  \$ utf8fpga (.*)$", help_of(*words), re.MULTILINE)}
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
        "prove": "[CORE] [OPTIONS] [CONFIG]...",
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


def test_help_and_completion_import_no_command() -> None:
    program = (
        "import sys; from utf8fpga.cli.main import main\n"
        "try: main(['--help'])\n"
        "finally: print([name for name in sys.modules if name.split('.')[0] in ('amaranth', 'numpy')"
        " or name.startswith(('utf8fpga.hdl', 'utf8fpga.cli.g'))], file=sys.stderr)"
    )
    for environment in ({}, {"_UTF8FPGA_COMPLETE": "bash_complete", "COMP_WORDS": "utf8fpga g", "COMP_CWORD": "1"}):
        done = run([sys.executable, "-c", program], capture_output=True, env=os.environ | environment)
        assert done.stderr == b"[]\n"
        assert b"generate" in done.stdout


# Completion.


def completed(line: str, shell: str = "bash") -> list[str]:
    """What a shell gets for the last word of a line, which may be empty."""
    words = line.split(" ")
    here = words[-1] if shell == "fish" else str(len(words) - 1)
    given = {"_UTF8FPGA_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": here}
    done = utf8fpga(env=os.environ | given)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


COMPLETED = {
    "utf8fpga ": [f"plain,{name}" for name in COMMANDS],
    "utf8fpga si": ["plain,simulate"],
    "utf8fpga generate encoder --t": ["plain,--to", "plain,--testbench"],
    "utf8fpga generate encoder --to utf-1": ["plain,utf-16-le", "plain,utf-16-be"],
    "utf8fpga bench --device ecp5": ["plain,ecp5-85k", "plain,ecp5-85k-8"],
}


@pytest.mark.parametrize("line", COMPLETED)
def test_completion(line: str) -> None:
    assert completed(line) == COMPLETED[line]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_after_the_line_of_the_page(tmp_path: Path) -> None:
    (line,) = re.findall(r"^ +(eval .*bash_source.*)  #", (DOCS / "commands.rst").read_text(), re.MULTILINE)
    (tmp_path / "utf8fpga").write_text(f'#!/bin/sh\nexec {sys.executable} -m utf8fpga "$@"\n')
    (tmp_path / "utf8fpga").chmod(0o755)
    press_tab = "COMP_WORDS=(utf8fpga vec); COMP_CWORD=1; _utf8fpga_completion utf8fpga; echo ${COMPREPLY[@]}"
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = run(["bash", "-c", f"{line}; {press_tab}"], capture_output=True, text=True, env=environment)
    assert done.stdout == "vectors\n"


# The manual page.

MANUAL = "sphinx-build -b man docs build/man"


@pytest.mark.slow
def test_manual_page_has_all_commands_and_no_date(tmp_path: Path) -> None:
    for name in ("sphinx", "myst_parser", "sphinx_click"):
        pytest.importorskip(name, reason="requires the extra 'docs'")
    assert MANUAL in (DOCS / "commands.rst").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "man", str(DOCS), str(tmp_path)]
    done = run(command, capture_output=True, cwd=CHECKOUT, check=True)
    assert b"commands.rst" not in done.stderr
    text = (tmp_path / "utf8fpga.1").read_text(encoding="utf-8")
    assert re.search(rf'^\.TH "UTF8FPGA" "?1"? "{__version__}" "?{__version__}"? "utf8fpga"$', text, re.MULTILINE)
    plain = text.replace("\\-", "-").replace("\\&", "")
    for words in EVERY:
        assert f"utf8fpga {' '.join(words)}".strip() in plain
    assert "--optimize" in plain
