# SPDX-License-Identifier: BSD-2-Clause
"""Writes figures and outputs into the README and the docs of a checkout."""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from utf8fpga.bench import tables
from utf8fpga.bench.plot import TITLE, lanes_plot
from utf8fpga.boards.build import build_board, obstacle
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.cli.demo import run_demo
from utf8fpga.cli.output import CommandError, read_error, write_bytes
from utf8fpga.formal.report import Result, proved_table
from utf8fpga.model.render import markdown

README_FILE = Path("README.md")
PERFORMANCE_FILE = Path("docs", "performance.md")
PROVED_FILE = Path("docs", "verification.md")
BOARDS_FILE = Path("docs", "boards.md")
TUTORIAL_FILE = Path("docs", "tutorial.md")

FIGURES_FILE = Path("bench", "results", "figures.csv")
"""The file in a checkout with all figures."""

PLOT_FILE = Path("bench", "results", "lanes.svg")
"""The plot of the figures over the number of lanes."""

SOFTWARE_FILE = Path("bench", "results", "software.json")
"""The file with the throughput of software decoders."""

BLOCKS = {
    README_FILE: ("claim", "summary", "demo"),
    PERFORMANCE_FILE: ("limits", "figures", "software"),
    PROVED_FILE: ("proved",),
    BOARDS_FILE: ("bitstreams",),
    TUTORIAL_FILE: ("build",),
}
"""The names of the generated blocks of each page."""


def figure_blocks(rows: Sequence[tables.Row]) -> dict[tuple[Path, str], str]:
    """The blocks with recorded figures, by page and name."""
    plot = f"![{TITLE}](../{PLOT_FILE.as_posix()})"
    return {
        (README_FILE, "claim"): tables.claim(rows),
        (README_FILE, "summary"): tables.figures_table(tables.selected(rows, tables.ON_README)),
        (PERFORMANCE_FILE, "limits"): tables.limits_table(),
        (PERFORMANCE_FILE, "figures"): f"{tables.figures_table(tables.selected(rows, tables.ON_PAGE))}\n\n{plot}",
    }


def record_figures(rows: Sequence[tables.Row], checkout: Path) -> None:
    """Write the figures of `RECORDED`, their plot, and the end of the demo's output into a checkout."""
    blocks = {**figure_blocks(rows), **build_blocks(), (README_FILE, "demo"): demo_block()}
    _write(checkout, blocks, {FIGURES_FILE: tables.csv_text(rows).encode(), PLOT_FILE: lanes_plot(list(rows))})


def record_software(figures: Mapping[str, Any], checkout: Path) -> None:
    """Write the throughput of software decoders into the docs of a checkout."""
    text = json.dumps(figures, indent=1) + "\n"
    blocks = {(PERFORMANCE_FILE, "software"): tables.software_table(figures)}
    _write(checkout, blocks, {SOFTWARE_FILE: text.encode()})


def record_proofs(results: Sequence[Result], checkout: Path) -> None:
    """Write the table of what is proved into a checkout."""
    _write(checkout, {(PROVED_FILE, "proved"): proved_table(results)}, {})


def _write(checkout: Path, blocks: Mapping[tuple[Path, str], str], files: Mapping[Path, bytes]) -> None:
    """Write the blocks, by page and name, and the other files; none is written if a page lacks a block."""
    pages = _pages(checkout)
    for (page, name), content in blocks.items():
        pages[page] = with_block(pages[page], name, content)
    for file, data in {**files, **{page: pages[page].encode() for page, _ in blocks}}.items():
        write_bytes(str(checkout / file), data)


def check_pages(checkout: Path) -> None:
    """Check that the pages of a checkout have the markers of each generated block."""
    for path, text in _pages(checkout).items():
        for name in BLOCKS[path]:
            with_block(text, name, "", str(checkout / path))


def _pages(checkout: Path) -> dict[Path, str]:
    pages = {}
    for name in BLOCKS:
        try:
            pages[name] = (checkout / name).read_text(encoding="utf-8")
        except OSError as error:
            raise read_error(str(checkout / name), error) from None
    return pages


BUILT = ("icebreaker", "ulx3s-85f", "tang-nano-9k", "ulx3s-25f", "logicbone", "icesugar-nano")
"""The boards whose bitstreams are recorded; the last three were drawn by lot."""


def build_blocks() -> dict[tuple[Path, str], str]:
    """The blocks about bitstreams: digests of those that can be built here, and the report of the first one."""
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, chdir(folder):
        reports = [build_board(name, Path("build")) for name in BUILT if not obstacle(BOARDS[name])]
    rows = [
        [each.board, each.device, f"{each.logic_cells}", f"{each.fmax_mhz:.2f}", f"`{each.sha256[:16]}`"]
        for each in reports
    ]
    heading = ["board", "device", "cells", "MHz reached", "SHA-256 of the bitstream begins with"]
    versions = {f"{name} {number}": None for each in reports for name, number in each.tools.items()}
    text = f"{markdown(heading, rows, left=(0, 1, 4))}\n\nSeed 1, {', '.join(versions)}."
    return {(BOARDS_FILE, "bitstreams"): text, (TUTORIAL_FILE, "build"): f"```text\n{reports[0]}\n```"}


def demo_block() -> str:
    """The demo's output of the last step, the virtual board, without the run time, as a Markdown block."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, chdir(folder), redirect_stdout(printed):
        run_demo(Path("build"))
    shown = printed.getvalue()
    shown = shown[shown.index("6. A virtual") : shown.rindex("\nThe demo took")].rstrip()
    return f"```text\n{shown}\n```"


def with_block(text: str, name: str, content: str, page: str = "the page") -> str:
    """A page's text with the block between the markers of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = re.compile(f"{begin}.*?{end}", re.DOTALL)
    if not block.search(text):
        raise CommandError(f"{page} has no lines {begin} and {end}")
    return block.sub(lambda _: f"{begin}\n{content}\n{end}", text)
