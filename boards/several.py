# SPDX-License-Identifier: BSD-2-Clause
"""Builds of several boards at once, and a table of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from utf8fpga.boards.build import BuildError, BuildReport, build_board, unwritable
from utf8fpga.boards.catalog import BOARDS, Board
from utf8fpga.boards.programming import programming_command
from utf8fpga.model import UserError
from utf8fpga.model.render import markdown


def build_boards(
    boards: Sequence[Board],
    directory: Path,
    executor: Executor,
    *,
    is_remote: bool = False,
    on_progress: Callable[[int, int, Sequence[str]], None] = lambda _done, _total, _running: None,
    **options: Any,
) -> dict[str, BuildReport | str]:
    """Build the bitstreams of boards; builds in the directory that are up to date are kept.

    Args:
        directory: the folder for the files, see `build_board`.
        executor: runs the builds, see `job_executor`.
        is_remote: the executor has no access to the directory, so files are sent to it and back.
        on_progress: called with the builds done, their number, and the boards that are being built.
        options: further arguments of `build_board`.

    Returns:
        For each board, in the given order, its report, or the message of the error.

    Raises:
        BuildError: `is_remote`, and the directory cannot be made.
    """
    if is_remote:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BuildError(unwritable(directory, error)) from None  # Before builds that take minutes.
    found: dict[str, BuildReport | str] = {}
    futures: dict[Future[Any], Board]
    if is_remote:
        futures = {executor.submit(_build_apart, board, _files(directory, board), options): board for board in boards}
    else:
        futures = {executor.submit(_build, board, directory, options): board for board in boards}
    left = set(futures)
    while left:
        on_progress(len(found), len(boards), [futures[future].name for future in left if future.running()])
        done, left = wait(left, timeout=1, return_when=FIRST_COMPLETED)
        for future in done:
            board, outcome = futures[future], future.result()
            found[board.name] = _received(board, outcome, directory) if is_remote else outcome
    return {board.name: found[board.name] for board in boards}


def _build(board: Board, directory: Path, options: dict[str, Any]) -> BuildReport | str:
    """The report of a build, or the message of the error."""
    try:
        return build_board(board, directory, keep=True, **options)
    except UserError as error:
        return str(error)


_Files = dict[str, bytes]
"""Contents of files, by their paths in a folder."""


def _files(directory: Path, board: Board) -> _Files:
    """The bitstream and the report of an earlier build of a board."""
    return {path.name: path.read_bytes() for path in directory.glob(f"{board.name}.*") if path.is_file()}


def _build_apart(board: Board, before: _Files, options: dict[str, Any]) -> tuple[BuildReport | str, str, _Files]:
    """What `_build` returns for a folder with some files, the name of that folder, and the files in it afterwards."""
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as name:
        folder = Path(name)
        for file, content in before.items():
            (folder / file).write_bytes(content)
        outcome = _build(board, folder, options)
        after = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        return outcome, name, {file: path.read_bytes() for file, path in after.items()}


def _received(board: Board, outcome: tuple[BuildReport | str, str, _Files], directory: Path) -> BuildReport | str:
    """Write the files of a build in another folder to the directory; returns what a build there would."""
    result, folder, files = outcome
    for file, content in files.items():
        path = directory / file
        # Beside, then renamed, so that no file has a part of its content.
        beside = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(content)
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            return f"{board.name}: {unwritable(path, error)}"
    if isinstance(result, str):
        return result.replace(folder, str(directory))
    bitstream = directory / result.bitstream.name
    report = replace(result, bitstream=bitstream, program=programming_command(board.create_platform(), bitstream))
    written = json.dumps(report.as_dict(), indent=2) + "\n"
    (directory / f"{board.name}.json").write_text(written, encoding="utf-8")
    return report


def table_of(reports: Sequence[BuildReport]) -> str:
    """A table in Markdown with a row for each report."""
    heading = ["board", "device", "UART", "MHz (reached)", "logic cells", "block RAMs", "bitstream (SHA-256)"]
    rows = [
        [
            report.board,
            BOARDS[report.board].device if report.board in BOARDS else report.device,
            report.uart or "its own",
            f"{report.required_mhz:.10g}{f', divided by {report.divide}' if report.divide > 1 else ''}"
            f" ({report.fmax_mhz:.1f})",
            f"{report.logic_cells} of {report.logic_cells_available}",
            f"{report.block_rams} of {report.block_rams_available}",
            f"`{report.sha256[:12]}`",
        ]
        for report in reports
    ]
    return f"{markdown(heading, rows)}\n"
