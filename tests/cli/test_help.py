# SPDX-License-Identifier: BSD-2-Clause
"""Help texts, completion by the shells, and the manual page."""

from __future__ import annotations

import os
import re
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
            yield from ((*path, name, *words.split()) for words in getattr(command, "others", ()))


EVERY = list(commands())


def help_of(*words: str, columns: int = 80) -> str:
    done = utf8fpga(*words, "--help", env=os.environ | {"COLUMNS": str(columns)})
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.parametrize("words", EVERY, ids=lambda words: "-".join(words) or "utf8fpga")
def test_help_is_whole_and_at_most_80_columns_wide(words: tuple[str, ...]) -> None:
    text = help_of(*words)
    assert not [line for line in text.splitlines() if len(line) > 80]
    assert "..." not in text.replace("]...", "").replace("FILE...", ""), "a summary is cut off"


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
        "finally: print([name for name in sys.modules if name.split('.')[0] in ('amaranth', 'numpy', 'rich')"
        " or name.startswith(('utf8fpga.hdl', 'utf8fpga.cli.g'))], file=sys.stderr)"
    )
    for environment in ({}, {"_UTF8FPGA_COMPLETE": "bash_complete", "COMP_WORDS": "utf8fpga g", "COMP_CWORD": "1"}):
        done = run([sys.executable, "-c", program], capture_output=True, env=os.environ | environment)
        assert done.stderr == b"[]\n"
        assert b"generate" in done.stdout


def test_options_of_hardware_are_in_sections() -> None:
    text = help_of("generate")
    sections = {
        part.split(":")[0]: set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", part, re.MULTILINE))
        for part in re.split(r"\n(?=\w[\w ]*:\n)", text)[1:]
    }
    assert list(sections) == ["Core", "Ports", "Files"]
    assert text.splitlines()[-1].startswith("  -h, --help ")
    assert {"--table", "--lanes", "--optimize", "--packed"} <= sections["Core"]
    assert {"--kind", "--reset-low", "--name"} <= sections["Ports"]
    assert {"--output", "--testbench", "--sva"} <= sections["Files"]
    # Each option is in one of them.
    command = cli.get_command(click.Context(cli), "generate")
    own = {each.opts[-1] if each.opts[-1].startswith("--") else each.opts[0] for each in command.params}
    assert set.union(*sections.values()) == own | {"--help"}


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
    "utf8fpga generate e": ["plain,encoder"],
    "utf8fpga generate encoder --t": [
        "plain,--to",
        "plain,--testbench",
    ],
    "utf8fpga generate encoder --to utf-1": ["plain,utf-16-le", "plain,utf-16-be"],
    "utf8fpga simulate t": ["file,t", "plain,transcoder"],
    "utf8fpga simulate --vcd w": ["file,w"],
    "utf8fpga bench --device ecp5": ["plain,ecp5-85k", "plain,ecp5-85k-8"],
    "utf8fpga build icebreaker --form w": ["plain,words"],
    "utf8fpga build icebreake": ["plain,icebreaker", "plain,icebreaker-bitsy"],
    "utf8fpga build icebreaker --directory b": ["dir,b"],
}


@pytest.mark.parametrize("line", COMPLETED)
def test_completion(line: str) -> None:
    assert completed(line) == COMPLETED[line]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_after_the_line_of_the_help(tmp_path: Path) -> None:
    (line,) = re.findall(r"^ +bash +(eval .*)$", help_of(), re.MULTILINE)
    (tmp_path / "utf8fpga").write_text(f'#!/bin/sh\nexec {sys.executable} -m utf8fpga "$@"\n')
    (tmp_path / "utf8fpga").chmod(0o755)
    press_tab = "COMP_WORDS=(utf8fpga generate va); COMP_CWORD=2; _utf8fpga_completion utf8fpga; echo ${COMPREPLY[@]}"
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = run(["bash", "-c", f"{line}; {press_tab}"], capture_output=True, text=True, env=environment)
    assert done.stdout == "validator\n"


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
