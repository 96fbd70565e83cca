# SPDX-License-Identifier: BSD-2-Clause
"""Finding and running the tools."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from support.oracle import refusal
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
    [("yosys", "utf8fpga[hdl]"), ("icepack", "utf8fpga[boards]"), ("nextpnr-ecp5", "utf8fpga[boards]")],
)
def test_a_missing_tool(tool: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert refusal(ToolError, find_tool, tool) == f"{tool} is not installed: pip install {package!r}"


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


def test_temporary_files_of_a_tool_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    leaves = "import os, tempfile; print(tempfile.mkdtemp(), flush=True); os.abort()"
    monkeypatch.setenv("ICEPACK", str(write_program(tmp_path / "icepack", leaves)))
    with pytest.raises(ToolError) as caught:
        run_tool("icepack", [], directory=tmp_path)
    assert str(tmp_path / "temporary") in str(caught.value)
    assert not list((tmp_path / "temporary").iterdir())


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
