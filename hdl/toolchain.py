# SPDX-License-Identifier: BSD-2-Clause
"""Finds and runs the open FPGA tools, which pip installs.

A tool is the program that its environment variable names (the variables of Amaranth, such as ``NEXTPNR_ICE40``), or
else a program beside this Python or on the path, with YoWASP's name or the plain name of the tool.

YoWASP's tools are WebAssembly, which compiles itself to machine code at the first start of each tool and stores the
result in the user's cache, or in the folder that ``YOWASP_CACHE_DIR`` names. The logger of this module then logs two
messages of level ``INFO`` for each tool, when it begins and when it continues; their attribute `first_start` is
``begin`` and ``end``. The tools fail if they cannot store the result; so if the user's cache is not writable, the
folder is one of this user in the system's temporary directory.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import shutil
import stat
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import platformdirs

from utf8fpga.model import UserError

__all__ = [
    "ToolError",
    "find_tool",
    "present_version",
    "run_tool",
    "stop_tools",
    "tool_error",
    "tool_variable",
    "tool_version",
    "version_in",
]

_EXTRA = {
    "yosys": "",
    "nextpnr-ice40": "[boards]",
    "icepack": "[boards]",
    "nextpnr-ecp5": "[boards]",
    "ecppack": "[boards]",
    "nextpnr-machxo2": "[machxo2]",
    "xo2pack": "[machxo2]",
    "nextpnr-himbaechel-gowin": "[gowin]",
    "gowin_pack": "[gowin]",
    "nextpnr-nexus": "[nexus]",
    "prjoxide": "[nexus]",
    "nextpnr-himbaechel-gatemate": "[gatemate]",
    "gmpack": "[gatemate]",
}


_running: set[subprocess.Popen[str]] = set()
"""The running tools of all threads."""

_logger = logging.getLogger(__name__)

_COMPILES = "Preparing to run "
"""The beginning of the line that a YoWASP tool prints before it compiles itself."""

_compiled: set[str] = set()
"""The tools for which the message has been logged."""

_saying = threading.Lock()


class ToolError(UserError, RuntimeError):
    """A tool is missing or has failed; the message is one line with the tool and the reason."""

    exit_status = 1


def find_tool(tool: str) -> str:
    """The command that runs `tool`, such as ``nextpnr-ice40``.

    Raises:
        ToolError: it is not installed.
    """
    variable = tool_variable(tool)
    if chosen := os.environ.get(variable):
        if found := shutil.which(chosen):
            return os.path.abspath(found)  # The tool runs in another directory.
        raise ToolError(f"{variable} names {chosen!r}, which is not a program")
    scripts = sysconfig.get_path("scripts")
    for name, path in ((f"yowasp-{tool}", scripts), (f"yowasp-{tool}", None), (tool, scripts), (tool, None)):
        if found := shutil.which(name, path=path):
            return os.path.abspath(found)
    raise ToolError(f"{tool} is not installed: pip install 'utf8fpga{_EXTRA.get(tool, '')}'")


def run_tool(tool: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Run a tool and return its output, standard output and standard error together.

    Args:
        tool: its plain name.
        arguments: its arguments; paths of files must be relative to `directory`, the only folder to
            which YoWASP's tools certainly have access.
        directory: its working directory.

    Raises:
        ToolError: it is not installed, cannot be started, or ended with another status than 0.
    """
    program = find_tool(tool)
    printed = []
    # A tool that is killed leaves temporary files, so they are in a folder that is removed.
    with (
        tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch,
        _started(tool, [program, *arguments], directory, scratch) as process,
        ExitStack() as first_start,
    ):
        _running.add(process)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                printed.append(line)
                first_start.close()
                if line.startswith(_COMPILES):
                    first_start.enter_context(_first_start(tool))
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    if process.returncode:
        raise tool_error(tool, process.returncode, "".join(printed))
    return "".join(printed)


def _started(tool: str, command: Sequence[str], directory: Path, scratch: str) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=(_environment() or os.environ) | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch),
        )
    except OSError as error:
        raise ToolError(f"{tool} cannot be started as {command[0]!r}: {error.strerror}") from None


@contextmanager
def _first_start(tool: str) -> Iterator[None]:
    """Log, once for each tool, that it compiles itself as long as the block lasts."""
    with _saying:
        is_first = tool not in _compiled
        _compiled.add(tool)
    if not is_first:
        yield
        return
    _logger.info("%s compiles itself at its first start, about a minute", tool, extra={"first_start": "begin"})
    try:
        yield
    finally:
        _logger.info("%s has been started", tool, extra={"first_start": "end"})


def _environment() -> dict[str, str] | None:
    """The environment of a tool, or None for that of this process."""
    if os.name != "posix" or "YOWASP_CACHE_DIR" in os.environ:
        return None
    cache = platformdirs.user_cache_path("YoWASP", appauthor=False)
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        # A cache that is not empty and not writable has been prepared for reading.
        if os.access(cache, os.W_OK) or any(cache.iterdir()):
            return None
    return {**os.environ, "YOWASP_CACHE_DIR": str(_own_folder())}


@functools.cache
def _own_folder() -> Path:
    """A folder in the temporary directory that no other user can write, since its contents are executed."""
    folder = Path(tempfile.gettempdir(), f"utf8fpga-{os.getuid()}")
    with suppress(OSError):
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077:
            return folder
    # The name belongs to another user.
    return Path(tempfile.mkdtemp(prefix="utf8fpga-"))


def stop_tools() -> None:
    """Terminate the tools that threads of this process have started."""
    for process in list(_running):
        process.terminate()


def tool_version(tool: str) -> str:
    """The version that a tool reports, such as ``0.11.1``.

    Raises:
        ToolError: it is not installed or does not run.
    """
    printed = run_tool(tool, ["--version"], directory=Path.cwd())
    return version_in(printed)


def present_version(tool: str) -> str:
    """`tool_version`, cached for each installed program.

    Raises:
        ToolError: it is not installed or does not run.
    """
    path = find_tool(tool)
    return _version(tool, path, Path(path).stat().st_mtime_ns)


@functools.cache
def _version(tool: str, path: str, changed: int) -> str:
    del path, changed  # They identify the program in the cache.
    return tool_version(tool)


def version_in(printed: str) -> str:
    """The version in the output of a tool; the whole output if there is none."""
    found = re.search(r"\d+\.\d+(?:\.\d+)*(?:[+-][\w.+-]*\w)?", printed)
    return found[0] if found else printed.strip()


def tool_variable(tool: str) -> str:
    """The environment variable that may name a tool's program."""
    return tool.upper().replace("-", "_")


def tool_error(tool: str, status: int | str, printed: str) -> ToolError:
    """The error for a tool that failed, with the first error in its output, which names the cause, or its last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    return ToolError(f"{tool} failed with status {status}: {[*errors, *(lines[-1:] or ['it printed nothing'])][0]}")
