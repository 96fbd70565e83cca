# SPDX-License-Identifier: BSD-2-Clause
"""The open FPGA tools that pip installs: where they are, and running them.

A tool is looked for where its environment variable points (the names that Amaranth uses, such as
``NEXTPNR_ICE40``), beside this Python, and on the path, as YoWASP names it and by its plain name.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

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
}


_running: set[subprocess.Popen[str]] = set()
"""The tools at work, whichever thread waits for them."""


class ToolError(RuntimeError):
    """A tool is missing or has failed; one line says which and why."""


def find_tool(tool: str) -> str:
    """The command that runs `tool`, such as ``nextpnr-ice40``.

    Raises:
        ToolError: it is not installed.
    """
    variable = tool_variable(tool)
    if chosen := os.environ.get(variable):
        if found := shutil.which(chosen):
            return found
        raise ToolError(f"{variable} names {chosen!r}, which is not a program")
    scripts = sysconfig.get_path("scripts")
    for name, path in ((f"yowasp-{tool}", scripts), (f"yowasp-{tool}", None), (tool, None)):
        if found := shutil.which(name, path=path):
            return found
    raise ToolError(f"{tool} is not installed: pip install 'utf8fpga{_EXTRA.get(tool, '')}'")


def run_tool(tool: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Run a tool and return what it printed, standard output and standard error together.

    Args:
        tool: its plain name.
        arguments: what it is told; files by paths relative to `directory`, the only folder that
            YoWASP's tools are sure to see.
        directory: where it runs.

    Raises:
        ToolError: it is not installed, or it ended with another status than 0.
    """
    with subprocess.Popen(
        [find_tool(tool), *arguments],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        _running.add(process)
        try:
            printed, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    if process.returncode:
        raise tool_error(tool, process.returncode, printed)
    return printed


def stop_tools() -> None:
    """End the tools that threads of this process have started, so that nothing waits for them any more."""
    for process in list(_running):
        process.terminate()


def tool_version(tool: str) -> str:
    """The version that a tool prints of itself, such as ``0.11.1``.

    Raises:
        ToolError: it is not installed or does not run.
    """
    printed = run_tool(tool, ["--version"], directory=Path.cwd())
    return version_in(printed)


def present_version(tool: str) -> str:
    """`tool_version`, asked for once per program that is installed.

    Raises:
        ToolError: it is not installed or does not run.
    """
    path = find_tool(tool)
    return _version(tool, path, Path(path).stat().st_mtime_ns)


@functools.cache
def _version(tool: str, path: str, changed: int) -> str:
    del path, changed  # what makes it another program
    return tool_version(tool)


def version_in(printed: str) -> str:
    """The version in what a tool printed of itself; all of it where there is none."""
    found = re.search(r"\d+\.\d+(?:\.\d+)*(?:[+-][\w.+-]*\w)?", printed)
    return found[0] if found else printed.strip()


def tool_variable(tool: str) -> str:
    """The environment variable that may name a tool's program."""
    return tool.upper().replace("-", "_")


def tool_error(tool: str, status: int | str, printed: str) -> ToolError:
    """What is said of a tool that failed, by the last error in what it printed."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    return ToolError(f"{tool} failed with status {status}: {(errors or lines or ['it printed nothing'])[-1]}")
