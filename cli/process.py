# SPDX-License-Identifier: BSD-2-Clause
"""The process of a command: its descriptors, its signals, and its error messages."""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from utf8fpga.cli.output import coloured, pip_install, say
from utf8fpga.model import UserError
from utf8fpga.model.exceptions import did_you_mean

DEFECT = 70
"""The exit status after a defect of the program: ``EX_SOFTWARE`` of BSD's sysexits."""

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command after it has cleaned up."""


class _Terminated(KeyboardInterrupt):
    """A signal has ended the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _ToStandardError(logging.Handler):
    """Prints the log messages of the library, such as that of a tool's first start, to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "first_start", None) != "end":
            say(f"utf8fpga: {record.getMessage()}")


def show_log() -> None:
    """Show the log messages of the library on standard error."""
    logger = logging.getLogger("utf8fpga")
    if not any(isinstance(handler, _ToStandardError) for handler in logger.handlers):
        logger.addHandler(_ToStandardError())
        logger.setLevel(logging.INFO)


def run(command: Callable[[], None]) -> int:
    """Run a command and report the error that ended it, if any.

    Returns:
        The exit status: 0 for success; 1 for a failed check or tool, or full storage; 2 for incorrect use; `DEFECT`,
        after a traceback, for any error that is not a `UserError`; 130 after Ctrl-C; 141 where the reader of the
        output closed it; 128 and the number of a signal in `ENDING`.
    """
    _open_closed_streams()
    show_log()
    ignore_unused_circuits()
    status = 0
    try:
        with _catching_signals():
            command()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        status = done.exit_code
    except KeyboardInterrupt as ended:
        is_terminated = isinstance(ended, _Terminated)
        say(f"utf8fpga: {'terminated' if is_terminated else 'interrupted'}")
        status = 128 + (ended.number if isinstance(ended, _Terminated) else signal.SIGINT)
    except Exception as error:
        status = _report(error)
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        # The buffered output cannot be written, so Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = status or _report(error)
    return status


def ignore_unused_circuits() -> None:
    """Suppress Amaranth's warnings of circuits that are not elaborated: used for attributes only, or interrupted.

    By their text, so that Amaranth need not be imported.
    """
    warnings.filterwarnings("ignore", message="<.* created but never used")


def _report(error: Exception) -> int:
    """Report an error and return the exit status."""
    if isinstance(error, BrokenPipeError):
        return 141  # Silently, as other programs do that a pipe into head ends.
    if isinstance(error, click.ClickException):
        message, status = _usage_error(error), error.exit_code
    elif isinstance(error, UserError):
        message, status = pip_install(str(error)), error.exit_status
    elif isinstance(error, OSError):
        # That of writing to standard output names no file.
        where = f"{error.filename!r}" if error.filename else "cannot write standard output"
        message, status = f"{where}: {'it is closed' if error.errno == errno.EBADF else error.strerror}", 1
    else:
        text = "".join(traceback.format_exception(error))
        say(f"{text}utf8fpga: this is a defect of utf8fpga: please report it with the lines above")
        return DEFECT
    say(f"{coloured('utf8fpga:', 'red', sys.stderr)} {message}")
    return status


def _usage_error(error: click.ClickException) -> str:
    """The message for a command line that the parser rejects."""
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name}{did_you_mean(error.option_name, error.possibilities or ())}"
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument) and error.ctx:
        return f"{error.param.make_metavar(error.ctx)} is missing"
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.BadOptionUsage) and "requires" in error.message:
        return f"{error.option_name} requires a value"
    if context and (found := re.match(r"Got unexpected extra arguments? \((.*)\)", error.message)):
        usage = context.get_usage().removeprefix("Usage: ")
        return f"unexpected argument {found[1]!r}: the usage is {usage}"
    message = " ".join(error.message.rstrip(".").split())
    return message[:1].lower() + message[1:]


def _open_closed_streams() -> None:
    """Reserve the numbers of closed standard streams, so that no file gets them; using one is an error as before."""
    for name, mode, flags in (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flags)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - as long as the process
    if hasattr(sys.stdout, "reconfigure"):
        # Escapes characters, such as those of a file name, that the encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _catching_signals() -> Iterator[None]:
    """Raise `_Terminated` for signals that end the process, so that no file is left incomplete.

    Running tools are ended first, since threads wait for them.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # A second signal ends the process at once.
        if tools := sys.modules.get("utf8fpga.hdl.toolchain"):
            tools.stop_tools()
        raise _Terminated(number)

    # A signal that is ignored, as with nohup, remains ignored.
    caught = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in caught:
            signal.signal(number, end)
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
