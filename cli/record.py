# SPDX-License-Identifier: BSD-2-Clause
"""What a checkout's README shows of the tools' figures, written from their reports and not by hand."""

from __future__ import annotations

import io
import json
import re
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from utf8fpga.boards import figures_table, points_table, scaling_picture
from utf8fpga.demo import run_demo
from utf8fpga.output import CommandError, write_bytes

__all__ = ["FIGURES_FILE", "PICTURE_FILE", "SCALING_FILE", "demo_block", "record", "scaling_block", "with_block"]

FIGURES_FILE = Path("boards", "figures.json")
"""Where a checkout keeps the figures that its README shows."""

SCALING_FILE = Path("boards", "scaling.json")
"""Where it keeps the figures over lanes."""

PICTURE_FILE = Path("boards", "scaling.svg")
"""Their picture."""


def record(figures: dict[str, Any], scaling: dict[str, Any], checkout: Path) -> None:
    """Write figures, and the end of the demo's output, into the README of a checkout.

    Args:
        figures: those of `setting_points`; they are also kept in `FIGURES_FILE`.
        scaling: those of `scaling_points`; they are also kept in `SCALING_FILE`, and drawn in `PICTURE_FILE`.
        checkout: its folder.

    Raises:
        CommandError: a file cannot be read or written, or the README has no place for a block.
        ToolError: the demo's bitstream could not be built, or matplotlib is missing.
    """
    readme = checkout / "README.md"
    try:
        text = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {str(readme)!r}: {error.strerror}") from None
    text = with_block(text, "figures", figures_table(figures))
    text = with_block(text, "scaling", scaling_block(scaling))
    text = with_block(text, "demo", demo_block())
    for file, written in ((FIGURES_FILE, figures), (SCALING_FILE, scaling)):
        write_bytes(str(checkout / file), (json.dumps(written, indent=1) + "\n").encode())
    write_bytes(str(checkout / PICTURE_FILE), scaling_picture(scaling))
    write_bytes(str(readme), text.encode())


def scaling_block(scaling: dict[str, Any]) -> str:
    """The figures over lanes as a picture and a table of Markdown."""
    alternative = "Throughput and area over lanes, beside the software decoders simdutf and CPython"
    return f"![{alternative}]({PICTURE_FILE.as_posix()})\n\n{points_table(scaling)}"


def demo_block() -> str:
    """The demo's output from the golden model on, less the time it took, as a block of Markdown."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, chdir(folder), redirect_stdout(printed):
        run_demo(Path("build"))
    shown = printed.getvalue()
    shown = shown[shown.index("3. The golden model") : shown.rindex("\nAll of it took")].rstrip()
    return f"```text\n{shown}\n```"


def with_block(text: str, name: str, content: str) -> str:
    """A README's text with the block between the marks of `name` written anew.

    Raises:
        CommandError: it has no such marks.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = re.compile(f"{begin}.*?{end}", re.DOTALL)
    if not block.search(text):
        raise CommandError(f"the README has no lines {begin} and {end}")
    return block.sub(lambda _: f"{begin}\n{content}\n{end}", text)
