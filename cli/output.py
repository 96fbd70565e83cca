# SPDX-License-Identifier: BSD-2-Clause
"""Files, progress and errors, the same for every command."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from utf8fpga.model import UserError

__all__ = [
    "CommandError",
    "file_size",
    "is_standard_output",
    "job_progress",
    "new_file",
    "progress",
    "read_chunks",
    "read_error",
    "say",
    "write_bytes",
    "write_error",
    "writing",
]

CHUNK = 1 << 20
"""Bytes read at once."""

_NO_ROOM = frozenset(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name))
"""The file's name is correct, but its contents do not fit."""


class CommandError(UserError):
    """Bad use of the command, or a check of it that failed.

    Args:
        message: what was wrong, the value, what would be right.
        status: the exit status: 2 for bad use, 1 for a check that failed.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = status


def say(text: str) -> None:
    """Talk, which goes to standard error; where that cannot be written nothing more can be said."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        # Python would try again when it ends, and change the exit status.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def read_error(path: str, error: OSError) -> CommandError:
    """What is said of a file, or of standard input for ``-``, that cannot be read."""
    closed = path == "-" and error.errno == errno.EBADF
    return CommandError(f"cannot read {path!r}: {'standard input is closed' if closed else error.strerror}")


def write_error(what: str, error: OSError, *, status: int | None = None) -> CommandError:
    """What is said of a file that cannot be written; the status is that of bad use unless the file has no room."""
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    return CommandError(f"cannot write {what}: {reason}", status=status or (1 if error.errno in _NO_ROOM else 2))


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
        raise read_error(path, error) from None


def file_size(path: str) -> int | None:
    """The size of a regular file in bytes; None of what is none."""
    return os.path.getsize(path) if os.path.isfile(path) else None


def is_standard_output(path: str | None) -> bool:
    """Whether a file is standard output by its name."""
    return path is not None and (path == "-" or _descriptor(path) == 1)


def _descriptor(path: str) -> int | None:
    """The number of the descriptor that a file's name stands for, such as ``/dev/stdout`` and ``/dev/fd/63``."""
    name = os.path.normpath(path)
    if name in ("/dev/stdout", "/dev/stderr"):
        return 1 if name == "/dev/stdout" else 2
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]{1,9})", name)
    return int(found[1]) if found else None


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A file to write, or standard output for ``-``.

    A regular file gets its name only when the block ends without an error; until then an older
    file of that name stays as it is. What is no regular file, such as a pipe, is written as it comes.

    Raises:
        CommandError: it cannot be written.
    """
    if is_standard_output(path):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with _written(path) as file:
            yield file
    except BrokenPipeError:
        raise CommandError(f"{path!r} was closed by its reader", status=141) from None
    except OSError as error:
        raise write_error(repr(path), error) from None


@contextmanager
def _written(path: str) -> Iterator[BinaryIO]:
    if (number := _descriptor(path)) is not None:
        # Where it leads to a file, opening that anew would overwrite what others have written.
        with open(os.dup(number), "wb") as file:
            yield file
        return
    with new_file(path) as name, open(name, "wb") as file:
        yield file


@contextmanager
def new_file(path: str) -> Iterator[Path]:
    """A name to write to, which is another than `path` where that is to be a regular file.

    The contents get the name `path` only when the block ends without an error.

    Raises:
        OSError: it cannot be written.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        if not stat.S_ISFIFO(mode):
            with open(path, "ab"):
                pass  # found out before any work is done
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".utf8fpga-{secrets.token_hex(6)}")
    try:
        with beside.open("xb"):
            pass
        yield beside
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for ``-``.

    Raises:
        CommandError: it cannot be written.
    """
    with writing(path) as file:
        file.write(data)


def _console() -> Console:
    """Standard error; variables such as FORCE_COLOR do not make a terminal of a pipe."""
    return Console(stderr=True, force_terminal=sys.stderr.isatty())


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing elsewhere; gives what takes the number done so far.

    What is printed meanwhile appears above the bar, if that is on the same terminal.
    """
    console = _console()
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
    console = _console()
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
