# SPDX-License-Identifier: BSD-2-Clause
"""Writes the figures in the README and the docs of a checkout from the reports of the tools."""

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
from utf8fpga.bench.plot import scaling_plot
from utf8fpga.cli.demo import run_demo
from utf8fpga.cli.output import CommandError, read_error, write_bytes
from utf8fpga.formal.report import Result, proved_table

README_FILE = Path("README.md")

FIGURES_FILE = Path("bench", "results", "figures.json")
"""The file in a checkout with the figures of the serial decoder's settings."""

SCALING_FILE = Path("bench", "results", "scaling.json")
"""The file with the figures over the number of lanes."""

PLOT_FILE = Path("bench", "results", "scaling.svg")
"""The plot of the figures over the number of lanes."""

CORES_FILE = Path("bench", "results", "cores.json")
"""The file with the figures of the other cores."""

CORES_PLOT_FILE = Path("bench", "results", "cores.svg")
"""Their plot."""

SOFTWARE_FILE = Path("bench", "results", "software.json")
"""The file with the throughput of software decoders, which the plots show, too."""

PROVED_FILE = Path("docs", "proved.md")
"""The page with what is proved."""

PERFORMANCE_FILE = Path("docs", "performance.md")
"""The page with all figures."""


def record(figures: dict[str, Any], scaling: dict[str, Any], cores: dict[str, Any], checkout: Path) -> None:
    """Write figures, and the end of the demo's output, into the README and the docs of a checkout, with their plots.

    The figures are those of `setting_points`, and of `scaling_points` for packed decoders and for `CORES_MEASURED`.
    """
    blocks = {
        (README_FILE, "summary"): tables.summary_table(figures, scaling),
        (PERFORMANCE_FILE, "limits"): tables.limits_table(),
        (PERFORMANCE_FILE, "figures"): tables.figures_table(figures),
        (PERFORMANCE_FILE, "scaling"): scaling_block(scaling),
        (PERFORMANCE_FILE, "cores"): scaling_block(cores, CORES_PLOT_FILE),
        (README_FILE, "demo"): demo_block(),
    }
    software = recorded(checkout / SOFTWARE_FILE, "software")
    plots = {PLOT_FILE: scaling_plot(scaling, software), CORES_PLOT_FILE: scaling_plot(cores, software)}
    _write(checkout, blocks, {FIGURES_FILE: figures, SCALING_FILE: scaling, CORES_FILE: cores}, plots)


def _write(
    checkout: Path,
    blocks: Mapping[tuple[Path, str], str],
    figures: Mapping[Path, dict[str, Any]],
    plots: Mapping[Path, bytes],
) -> None:
    """Write the blocks, by page and name, and the other files; none is written if a page lacks a block."""
    pages = _pages(checkout)
    for (page, name), content in blocks.items():
        pages[page] = with_block(pages[page], name, content)
    files = {file: (json.dumps(content, indent=1) + "\n").encode() for file, content in figures.items()}
    files |= {**plots, **{page: pages[page].encode() for page, _ in blocks}}
    for file, data in files.items():
        write_bytes(str(checkout / file), data)


def recorded(path: Path, rows: str = "figures") -> dict[str, Any] | None:
    """The figures in a file of a checkout; None if there are none under the key `rows`."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
        return figures if figures[rows] and figures["tools"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_software(figures: dict[str, Any], checkout: Path) -> None:
    """Write the throughput of software decoders into the docs of a checkout, and into its plots."""
    plotted = {
        plot: recorded(checkout / file) for plot, file in ((PLOT_FILE, SCALING_FILE), (CORES_PLOT_FILE, CORES_FILE))
    }
    plots = {plot: scaling_plot(drawn, figures) for plot, drawn in plotted.items() if drawn}
    _write(checkout, {(PERFORMANCE_FILE, "software"): tables.software_table(figures)}, {SOFTWARE_FILE: figures}, plots)


BLOCKS = {
    README_FILE: ("summary", "demo"),
    PERFORMANCE_FILE: ("limits", "figures", "scaling", "cores", "software"),
    PROVED_FILE: ("proved",),
}
"""The names of the generated blocks of each page."""


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


def scaling_block(figures: dict[str, Any], plot: Path = PLOT_FILE) -> str:
    """Figures over the number of lanes as a plot and a Markdown table, for `PERFORMANCE_FILE`."""
    alternative = "Throughput at the usable clock and area per lane over lanes, beside software decoders"
    return f"![{alternative}](../{plot.as_posix()})\n\n{tables.points_table(figures)}"


def demo_block() -> str:
    """The demo's output of the last step, the virtual board, without the run time, as a Markdown block."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, chdir(folder), redirect_stdout(printed):
        run_demo(Path("build"))
    shown = printed.getvalue()
    shown = shown[shown.index("6. A virtual") : shown.rindex("\nThe demo took")].rstrip()
    return f"```text\n{shown}\n```"


def record_proofs(results: Sequence[Result], checkout: Path) -> None:
    """Write the table of what is proved into a checkout."""
    _write(checkout, {(PROVED_FILE, "proved"): proved_table(results)}, {}, {})


def with_block(text: str, name: str, content: str, page: str = "the page") -> str:
    """A page's text with the block between the markers of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = re.compile(f"{begin}.*?{end}", re.DOTALL)
    if not block.search(text):
        raise CommandError(f"{page} has no lines {begin} and {end}")
    return block.sub(lambda _: f"{begin}\n{content}\n{end}", text)
