# SPDX-License-Identifier: BSD-2-Clause
"""Finds and runs the open FPGA tools, which pip installs.

A tool is the program that its environment variable names (the variables of Amaranth, such as ``NEXTPNR_ICE40``), or
else a program beside this Python or on the path, with YoWASP's name or the plain name of the tool.

A YoWASP tool is WebAssembly, which its runtime compiles at the first start and stores. Two first starts at once would
write the same file, and reading it then ends a process by SIGBUS. So the first start of a program is under a lock.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

import platformdirs
from filelock import FileLock

from utf8fpga.model import UserError

_EXTRAS = {
    "hdl": ("yosys",),
    "boards": ("nextpnr-ice40", "icepack", "nextpnr-ecp5", "ecppack"),
    "machxo2": ("nextpnr-machxo2", "xo2pack"),
    "gowin": ("nextpnr-himbaechel-gowin", "gowin_pack"),
    "nexus": ("nextpnr-nexus", "prjoxide"),
    "gatemate": ("nextpnr-himbaechel-gatemate", "gmpack"),
}
"""The extras of this package that install tools."""

_ECP5_MEMORIES = Path(__file__).parent / "verilog" / "ecp5_memories.v"

_logger = logging.getLogger(__name__)

_running: set[Popen[str]] = set()
"""The running tools of all threads."""


class ToolError(UserError, RuntimeError):
    """A tool is missing or has failed; the message is one line with the tool and the reason."""

    exit_status = 1


class ToolFailedError(ToolError):
    """A tool ran and failed."""


def find_tool(tool: str) -> str:
    """The command that runs `tool`, such as ``nextpnr-ice40``.

    Raises:
        ToolError: it is not installed.
    """
    variable = tool.upper().replace("-", "_")
    if chosen := os.environ.get(variable):
        if found := shutil.which(chosen):
            return os.path.abspath(found)  # The tool runs in another directory.
        raise ToolError(f"{variable} names {chosen!r}, which is not a program")
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    if found := shutil.which(f"yowasp-{tool}", path=path) or shutil.which(tool, path=path):
        return os.path.abspath(found)
    extra = next((f"[{extra}]" for extra, tools in _EXTRAS.items() if tool in tools), "")
    raise ToolError(f"{tool} is not installed: pip install -e '.{extra}'")


def run_tool(tool: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Run a tool and return its output, standard output and standard error together.

    Args:
        arguments: its arguments; paths of files must be relative to `directory`, the only folder to
            which YoWASP's tools certainly have access.

    Raises:
        ToolError: it is not installed, cannot be started, or ended with another status than 0.
    """
    program = find_tool(tool)
    if Path(program).name.startswith("yowasp-"):
        _start_first(tool, program)
    status, printed = _run(tool, [program, *arguments], directory)
    if status:
        raise tool_error(tool, status, printed)
    return printed


def after_synthesis(family: str) -> tuple[str, dict[str, str]]:
    """Commands of Yosys after ``synth_FAMILY``, and the files that they read, by their names in the tool's folder.

    Without them nextpnr-ecp5 routes a constant to each memory that is written in every cycle.
    """
    if family != "ecp5":
        return "", {}
    return f"techmap -map {_ECP5_MEMORIES.name}; ", {_ECP5_MEMORIES.name: _ECP5_MEMORIES.read_text(encoding="utf-8")}


def run_yosys(script: str, files: Mapping[str, str | bytes], *results: str) -> list[bytes]:
    """Run a script of Yosys in a folder of its own.

    Args:
        files: the files that it reads, by their names in the folder.
        results: the names of files that it may write.

    Returns:
        The contents of these files; empty where there is none.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, content in files.items():
            (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
        run_tool("yosys", ["-q", "-p", script], directory=directory)
        paths = (directory / name for name in results)
        return [path.read_bytes() if path.exists() else b"" for path in paths]


def _run(tool: str, command: Sequence[str], directory: Path) -> tuple[int, str]:
    """The exit status and the output of a tool, which `stop_tools` terminates.

    Raises:
        ToolError: it cannot be started.
    """
    try:
        process = Popen(command, cwd=directory, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
    except OSError as error:
        raise ToolError(f"{tool} cannot be started as {command[0]!r}: {error.strerror}") from None
    with process:
        _running.add(process)
        try:
            printed, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return process.returncode, printed


def _start_first(tool: str, program: str) -> None:
    """Start a tool of YoWASP once, so that it is compiled. What it prints does not matter: some have no such option."""
    cache = platformdirs.user_cache_path("utf8fpga") / "started"
    state = f"{program} {Path(program).stat().st_mtime_ns} {os.environ.get('YOWASP_CACHE_DIR')}"
    started = cache / hashlib.sha256(state.encode()).hexdigest()
    with suppress(OSError):  # Where the cache cannot be written, nothing is locked.
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{started}.lock"):
            if not started.exists():
                _logger.info("%s compiles itself at its first start, a minute or more", tool)
                _run(tool, [program, "--version"], cache)
                started.touch()


def stop_tools() -> None:
    """Terminate the tools that threads of this process have started."""
    for process in list(_running):
        process.terminate()


def present_version(tool: str) -> str:
    """The whole version of a tool.

    Of a tool of YoWASP it is that of its package, such as ``0.70.0.0.post1259``: several builds report one version.

    Raises:
        ToolError: it is not installed or does not run.
    """
    program = find_tool(tool)
    if Path(program).name.startswith("yowasp-"):
        with suppress(PackageNotFoundError):  # Of a package with several tools, or of another Python.
            return version(Path(program).stem)
    printed = run_tool(tool, ["--version"], directory=Path.cwd())
    found = re.search(r"\d+\.\d+(?:\.\d+)*(?:[+-][\w.+-]*\w)?", printed)
    return found[0] if found else printed.strip()


def tool_error(tool: str, status: int | str, printed: str) -> ToolFailedError:
    """The error for a tool that failed, with the first error in its output, which names the cause, or its last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    reason = [*errors, *lines[-1:], "it printed nothing"][0]
    return ToolFailedError(f"{tool} failed with status {status}: {reason}")
