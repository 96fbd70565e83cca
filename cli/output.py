# SPDX-License-Identifier: BSD-2-Clause
"""Files, progress and errors, the same for every command."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["CommandError", "job_progress", "progress", "read_chunks", "say", "write_bytes", "writing"]

CHUNK = 1 << 16
"""Bytes read at once."""


class CommandError(Exception):
    """Something a person is told in one line.

    Args:
        message: what was wrong, the value, what would be right.
        status: the exit status: 2 for bad use, 1 for a check that failed.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def say(text: str) -> None:
    """Talk, which goes to standard error."""
    print(text, file=sys.stderr, flush=True)


def read_chunks(path: str) -> Iterator[bytes]:
    """The contents of a file, or of standard input for ``-``, in chunks of bounded size.

    Raises:
        CommandError: it cannot be read.
    """
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            while chunk := file.read1(CHUNK):
                yield chunk
    except OSError as error:
        raise CommandError(f"cannot read {path!r}: {error.strerror}") from None


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A file to write, or standard output for ``-``.

    A regular file gets its name only when the block ends without an error; until then an older
    file of that name stays as it is.

    Raises:
        CommandError: it cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb") as file:
                yield file
            return
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("xb") as file:
                yield file
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"cannot write {path!r}: {error.strerror}") from None


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for ``-``.

    Raises:
        CommandError: it cannot be written.
    """
    with writing(path) as file:
        file.write(data)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing elsewhere; gives what takes the number done so far.

    What is printed meanwhile appears above the bar, if that is on the same terminal.
    """
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def job_progress(what: str) -> Iterator[Callable[[int, int, Sequence[str]], None]]:
    """As `progress`, for jobs side by side; gives what takes how many are done, of how many, and which run."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[running]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, running="")

        def show(done: int, total: int, running: Sequence[str]) -> None:
            text = " ".join([*running[:1], *([f"(+{len(running) - 1})"] if running[1:] else [])])
            # What is before it takes its room first.
            bar.update(task, completed=done, total=total, running=text[: max(0, console.width - 52)])

        yield show
