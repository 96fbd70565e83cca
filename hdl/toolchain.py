# SPDX-License-Identifier: BSD-2-Clause
"""Finds and runs the open FPGA tools, which pip installs.

A tool is the program that its environment variable names (the variables of Amaranth, such as ``NEXTPNR_ICE40``), or
else a program beside this Python or on the path, with YoWASP's name or the plain name of the tool. Those of YoWASP
compile themselves at their first start, see `tool_cache`.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from utf8fpga.hdl.tool_cache import compiled_form, is_yowasp
from utf8fpga.model import UserError

_EXTRA = {
    "yosys": "[hdl]",
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


_ECP5_MEMORIES = Path(__file__).parent / "verilog" / "ecp5_memories.v"

_running: set[subprocess.Popen[str]] = set()
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
    scripts = sysconfig.get_path("scripts")
    for name, path in ((f"yowasp-{tool}", scripts), (f"yowasp-{tool}", None), (tool, scripts), (tool, None)):
        if found := shutil.which(name, path=path):
            return os.path.abspath(found)
    raise ToolError(f"{tool} is not installed: pip install 'utf8fpga{_EXTRA.get(tool, '')}'")


def run_tool(tool: str, arguments: Sequence[str], *, directory: Path) -> str:
    """Run a tool and return its output, standard output and standard error together.

    Args:
        arguments: its arguments; paths of files must be relative to `directory`, the only folder to
            which YoWASP's tools certainly have access.

    Raises:
        ToolError: it is not installed, cannot be started, or ended with another status than 0.
    """
    program = find_tool(tool)
    command = [program, *arguments]
    status, printed = run_command(tool, command, directory, _environment(tool, program))
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


def run_command(tool: str, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit status and the output of a tool, which `stop_tools` terminates; `environment` is added to that of here.

    Raises:
        ToolError: it cannot be started.
    """
    # A tool that is killed leaves temporary files, so they are in a folder that is removed.
    with tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch:
        try:
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, **environment, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch)},
            )
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


def _environment(tool: str, program: str) -> dict[str, str]:
    """Where a tool finds its compiled form, which is made at its first start."""
    if not is_yowasp(program):
        return {}

    def compile_into(folder: Path) -> None:
        # The option is unknown to some tools, which have compiled themselves before they reject it.
        status, printed = run_command(tool, [program, "--version"], folder, {"YOWASP_CACHE_DIR": str(folder)})
        if "Traceback" in printed or (status and not any(folder.iterdir())):
            raise ToolError(f"{tool_error(tool, status, printed)}; its compiled form is to be in {str(folder)!r}")

    try:
        return {"YOWASP_CACHE_DIR": str(compiled_form(program, compile_into))}
    except OSError as error:
        reason = f"{error.filename!r}: {error.strerror}: name another folder in YOWASP_CACHE_DIR"
        raise ToolError(f"{tool} cannot be compiled: {reason}") from None


def stop_tools() -> None:
    """Terminate the tools that threads of this process have started."""
    for process in list(_running):
        process.terminate()


def present_version(tool: str) -> str:
    """The whole version of a tool, cached for each installed program.

    Of a tool of YoWASP it is that of its package, such as ``0.70.0.0.post1259``: several builds report one version.

    Raises:
        ToolError: it is not installed or does not run.
    """
    path = find_tool(tool)
    return _version(tool, path, Path(path).stat().st_mtime_ns)


@functools.cache
def _version(tool: str, path: str, changed: int) -> str:
    del changed  # It identifies the program in the cache.
    if is_yowasp(path):
        with suppress(PackageNotFoundError):  # Of a package with several tools, or of another Python.
            return version(Path(path).stem)
    return version_in(run_tool(tool, ["--version"], directory=Path.cwd()))


def version_in(printed: str) -> str:
    """The version in the output of a tool; the whole output if there is none."""
    found = re.search(r"\d+\.\d+(?:\.\d+)*(?:[+-][\w.+-]*\w)?", printed)
    return found[0] if found else printed.strip()


def tool_error(tool: str, status: int | str, printed: str) -> ToolFailedError:
    """The error for a tool that failed, with the first error in its output, which names the cause, or its last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    return ToolFailedError(
        f"{tool} failed with status {status}: {[*errors, *(lines[-1:] or ['it printed nothing'])][0]}"
    )
