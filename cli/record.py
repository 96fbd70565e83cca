# SPDX-License-Identifier: BSD-2-Clause
"""Writes figures and outputs into the README and the docs of a checkout."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path

from utf8fpga.bench import tables
from utf8fpga.bench.plot import TITLE, lanes_plot
from utf8fpga.boards.build import build_board, obstacle
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.cli.output import CommandError, write_bytes
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

Blocks = Mapping[tuple[Path, str], str]
"""Contents of generated blocks, by page and name."""


def figure_blocks(rows: Sequence[tables.Row]) -> Blocks:
    """The blocks with recorded figures."""
    plot = f"![{TITLE}](../{PLOT_FILE.as_posix()})"
    return {
        (README_FILE, "claim"): tables.claim(rows),
        (README_FILE, "summary"): tables.figures_table(tables.selected(rows, tables.ON_README)),
        (PERFORMANCE_FILE, "limits"): tables.limits_table(),
        (PERFORMANCE_FILE, "figures"): f"{tables.figures_table(tables.selected(rows, tables.ON_PAGE))}\n\n{plot}",
    }


def record_figures(rows: Sequence[tables.Row], checkout: Path) -> None:
    """Write the figures of `RECORDED`, their plot, and those of bitstreams into the pages of a checkout."""
    _write(checkout, {**figure_blocks(rows), **build_blocks()})
    write_bytes(str(checkout / PLOT_FILE), lanes_plot(rows))


def record_proofs(results: Sequence[Result], checkout: Path) -> None:
    """Write the table of what is proved into a checkout."""
    _write(checkout, {(PROVED_FILE, "proved"): proved_table(results)})


def _write(checkout: Path, blocks: Blocks) -> None:
    for (page, name), content in blocks.items():
        text = (checkout / page).read_text(encoding="utf-8")
        write_bytes(str(checkout / page), with_block(text, name, content).encode())


BUILT = ("icebreaker", "ulx3s-85f", "tang-nano-9k", "ulx3s-25f", "logicbone", "icesugar-nano")
"""The boards whose bitstreams are recorded; the last three were drawn by lot."""


def build_blocks() -> Blocks:
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


def with_block(text: str, name: str, content: str) -> str:
    """A page's text with the block between the markers of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = re.compile(f"{begin}.*?{end}", re.DOTALL)
    if not block.search(text):
        raise CommandError(f"the page has no lines {begin} and {end}")
    return block.sub(lambda _: f"{begin}\n{content}\n{end}", text)
