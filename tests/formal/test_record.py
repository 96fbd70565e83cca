# SPDX-License-Identifier: BSD-2-Clause
"""The recorded table of what is proved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command import utf8fpga

from utf8fpga.cli.record import PROVED_FILE
from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.report import Result, proved_table
from utf8fpga.hdl.toolchain import tool_error

CHECKOUT = Path(__file__).parents[2]


def test_a_property_is_recorded_as_proved_only_if_all_its_results_are() -> None:
    results = [Result("serial-area", "cover", "trace", 1, 0.1, proved, "OVERLONG") for proved in (True, None)]
    results.append(Result("serial-area", "steady", "reachability", 1, 0.1, True, processor=2.04))
    assert proved_table(results).splitlines()[-1] == "| `serial-area` | `steady` 2.0 | `cover` |"


def test_what_is_proved_is_written_into_the_page(tmp_path: Path) -> None:
    shutil.copy(CHECKOUT / "README.md", tmp_path)
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    command = ["prove", "serial-area", "--property", "independence", "--record", str(tmp_path), "--jobs", "1"]
    assert b"1 of 1 hold" in utf8fpga(*command).stdout
    assert "| `serial-area` | `independence` " in (tmp_path / PROVED_FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wanted", "part"), [("steady", "_prove"), ("netlist-ice40", "_prove_netlist"), ("verilog", "_prove_verilog")]
)
def test_a_property_for_which_a_tool_fails_is_undecided(
    wanted: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise tool_error("yosys", 1, "ERROR: call stack exhausted")

    monkeypatch.setattr(runner, part, fail)
    (result,) = runner.prove(CONFIGURATIONS["serial-area"], wanted)
    assert (result.proved, result.note) == (None, "yosys failed with status 1: ERROR: call stack exhausted")
