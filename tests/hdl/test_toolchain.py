# SPDX-License-Identifier: BSD-2-Clause
"""Finding and running the tools, and the first starts of YoWASP's by any number of processes."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from support.oracle import refusal
from support.processes import run, started, wait_until
from support.programs import write_program

from utf8fpga.hdl.toolchain import ToolError, after_synthesis, find_tool, present_version, run_tool, run_yosys


def test_the_environment_chooses_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = write_program(tmp_path / "mine", "print('mine 1.2.3+4')")
    monkeypatch.setenv("NEXTPNR_ICE40", str(chosen))
    assert find_tool("nextpnr-ice40") == str(chosen)
    assert present_version("nextpnr-ice40") == "1.2.3+4"


def test_an_environment_that_names_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "/nonexistent/yosys")
    assert refusal(ToolError, find_tool, "yosys") == "YOSYS names '/nonexistent/yosys', which is not a program"


@pytest.mark.parametrize(
    ("tool", "package"),
    [("yosys", ".[hdl]"), ("icepack", ".[boards]"), ("nextpnr-ecp5", ".[boards]")],
)
def test_a_missing_tool(tool: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert refusal(ToolError, find_tool, tool) == f"{tool} is not installed: pip install -e {package!r}"


@pytest.mark.smoke
def test_yosys_is_found_and_runs(tmp_path: Path) -> None:
    assert re.match(r"0\.\d+", present_version("yosys"))
    (tmp_path / "a.v").write_text("module a(input x, output y); assign y = x; endmodule")
    run_tool("yosys", ["-q", "-p", "read_verilog a.v; write_json a.json"], directory=tmp_path)
    assert '"a"' in (tmp_path / "a.json").read_text()


def test_a_tool_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = "print('working'); print('ERROR: no such part'); print('ERROR: failed'); print('bye')"
    failing = write_program(tmp_path / "failing", f"{printed}; raise SystemExit(3)")
    monkeypatch.setenv("ICEPACK", str(failing))
    with pytest.raises(ToolError, match=r"^icepack failed with status 3: ERROR: no such part$"):
        run_tool("icepack", [], directory=tmp_path)
    silent = write_program(tmp_path / "silent", "raise SystemExit(1)")
    monkeypatch.setenv("ICEPACK", str(silent))
    with pytest.raises(ToolError, match=r"^icepack failed with status 1: it printed nothing$"):
        run_tool("icepack", [], directory=tmp_path)


# Starting and ending.


def test_a_program_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "icepack"
    program.write_bytes(b"\x7fELF, but not really")
    program.chmod(0o755)
    monkeypatch.setenv("ICEPACK", str(program))
    message = f"icepack cannot be started as {str(program)!r}: Exec format error"
    assert refusal(ToolError, run_tool, "icepack", [], directory=tmp_path) == message


def test_a_tool_chosen_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    write_program(tmp_path / "mine", "print('mine 1.2')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ICEPACK", "./mine")
    assert run_tool("icepack", [], directory=tmp_path / "elsewhere") == "mine 1.2\n"


MEMORIES = """
module top(input clk, input en, input [3:0] a, b, input [3:0] d, output [3:0] x, y);
  reg [3:0] always_written [0:15], enabled [0:15];
  assign x = always_written[b], y = enabled[b];
  always @(posedge clk) begin
    always_written[a] <= d;
    if (en) enabled[a] <= d;
  end
endmodule
"""


def test_a_memory_that_is_written_in_each_cycle_has_no_write_enable_after_synthesis() -> None:
    finish, files = after_synthesis("ecp5")
    script = f"read_verilog top.v; synth_ecp5 -top top; {finish}write_json top.json"
    written = run_yosys(script, {"top.v": MEMORIES, **files}, "top.json")[0]
    cells = json.loads(written)["modules"]["top"]["cells"].values()
    found = [each for each in cells if each["type"] == "TRELLIS_DPR16X4"]
    # In JSON of Yosys a string of digits ends with a space.
    assert sorted((each["parameters"]["WREMUX"], "WRE" in each["connections"]) for each in found) == [
        ("1 ", False),
        ("WRE", True),
    ]
    assert all(each["parameters"]["WCKMUX"] == "WCK" and len(each["connections"]["DO"]) == 4 for each in found)


# First starts.

TOOL = """
import mmap, os, pathlib, sys, time
form = pathlib.Path(os.environ["YOWASP_CACHE_DIR"], "package", "icepack.wasm", "digest")
if not form.exists() or form.stat().st_size < {size}:
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

FIRST = "icepack compiles itself at its first start, a minute or more"

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


@pytest.fixture
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool that has never run; its first start takes as many seconds as the parameter."""
    program = write_program(
        tmp_path / "yowasp-icepack", TOOL.format(size=1 << 20, seconds=getattr(request, "param", 0))
    )
    monkeypatch.setenv("ICEPACK", str(program))
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    return program


slow_start = pytest.mark.parametrize("tool", [0.2], indirect=True)


@slow_start
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_tool_is_compiled_once_however_many_processes_start_it(tool: Path, tmp_path: Path) -> None:
    for said in ([FIRST], []):
        done = run([sys.executable, "-c", PROCESSES, "4", str(tmp_path)], capture_output=True, text=True, check=True)
        assert sorted(done.stdout.splitlines()) == [*said, *["packed"] * 4]


@slow_start
def test_a_process_that_was_killed_in_the_middle_of_a_first_start(tool: Path, tmp_path: Path) -> None:
    with started([sys.executable, "-c", PROCESSES, "1", str(tmp_path)]) as process:
        wait_until(lambda: any(tmp_path.glob("cache/package/*/digest")), expected="the tool compiles itself")
        os.killpg(process.pid, signal.SIGKILL)
    assert run_tool("icepack", [], directory=tmp_path) == "packed\n"


def test_a_cache_that_cannot_be_written(tool: Path, tmp_path: Path) -> None:
    (tmp_path / "users").write_text("no folder, which not even the superuser can write into")
    assert run_tool("icepack", [], directory=tmp_path) == "packed\n"
