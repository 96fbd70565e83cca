# SPDX-License-Identifier: BSD-2-Clause
"""Builds of several boards at once, and a table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from utf8fpga.boards.build import BuildReport, build_board
from utf8fpga.boards.catalog import BOARDS, Board
from utf8fpga.model import UserError

__all__ = ["build_boards", "table_of"]


def build_boards(
    boards: Sequence[Board],
    directory: Path,
    *,
    jobs: int = 1,
    started: Callable[[int, int, Sequence[str]], None] = lambda _done, _total, _running: None,
    **options: Any,
) -> dict[str, BuildReport | str]:
    """Build the bitstreams of boards; builds in the directory that are up to date are kept.

    Args:
        boards: the boards.
        directory: the folder for the files, see `build_board`.
        jobs: the builds at once.
        started: called with the builds done, their number, and the boards that are being built.
        options: further arguments of `build_board`.

    Returns:
        For each board, in the given order, its report, or the message of the error.
    """
    found: dict[str, BuildReport | str] = {}
    running: list[str] = []

    def build(board: Board) -> BuildReport:
        running.append(board.name)
        started(len(found), len(boards), list(running))
        try:
            return build_board(board, directory, keep=True, **options)
        finally:
            running.remove(board.name)

    threads = ThreadPoolExecutor(jobs)
    try:
        futures = {threads.submit(build, board): board.name for board in boards}
        for future in as_completed(futures):
            try:
                found[futures[future]] = future.result()
            except UserError as error:
                found[futures[future]] = str(error)
            started(len(found), len(boards), list(running))
    finally:
        threads.shutdown(cancel_futures=True)
    return {board.name: found[board.name] for board in boards}


def table_of(reports: Sequence[BuildReport]) -> str:
    """A table in Markdown with a row for each report."""
    heading = ["board", "device", "UART", "clock in MHz", "reached", "logic cells", "block RAMs", "bitstream (SHA-256)"]
    rows = [
        [
            report.board,
            BOARDS[report.board].description.partition(",")[0] if report.board in BOARDS else report.device,
            report.uart or "its own",
            f"{report.required_mhz:.10g}" + (f" (divided by {report.divide})" if report.divide > 1 else ""),
            f"{report.fmax_mhz:.1f}",
            f"{report.logic_cells} of {report.logic_cells_available}",
            f"{report.block_rams} of {report.block_rams_available}",
            f"`{report.sha256[:12]}`",
        ]
        for report in reports
    ]
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
