# SPDX-License-Identifier: BSD-2-Clause
"""The verdict on foreign cores: one defect each, its shortest input, and the test bench and waveform that show it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from support.engines import requires_graph
from support.foreign_cores import report_of, spelt, use_few_texts, variant_of
from support.icarus import run_icarus
from support.tiers import tiered

from utf8fpga.cli.check import SCHEMA_VERSION
from utf8fpga.model import Practice
from utf8fpga.sim.causes import check_foreign_core
from utf8fpga.sim.foreign_bench import foreign_testbench
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.report import Defect, Finding

SCHEMA = json.loads(files("utf8fpga.cli").joinpath("check.schema.json").read_text(encoding="utf-8"))


few_texts = pytest.fixture(use_few_texts)


class Fault(NamedTuple):
    """A fault in a correct core: what is replaced, the shortest input, and what makes the file correct without it."""

    defect: Defect
    core: str
    changes: Mapping[str, str]
    shortest: str
    mends: Mapping[str, str] = {}


# The core `surrogates` is correct with this.
MENDED = {"high <= s_data == 8'hF4": "high <= s_data == 8'hED ? 8'h9F : s_data == 8'hF4"}
FREE = "    end else if (free", ") begin\n      m_valid <= 0;"
READY = "assign s_ready = free && !breaks"
ACCEPTED, IGNORED = "end else if (s_valid) begin", "end else if (s_valid && s_data != 8'hFF) begin"
END = "m_last <= s_last && !breaks;"

FAULTS = {
    "accepts": Fault(Defect.ACCEPTS, "strobe", {"continues && data[7]": "continues && data[7] && data != 8'hFE"}, "FE"),
    "corrupts": Fault(Defect.CORRUPTS, "strobe", {"{code, data[5:0]}": "{code[13:0], data[6:0]}"}, "C2 80"),
    "rejects": Fault(Defect.CORRUPTS, "validator", {"bad || after != 0": "bad || after != 0 || s_data == 0"}, "00"),
    "loses": Fault(Defect.ITEMS, "strobe", {"full = more == 0": "full = more == 0 && data != 0"}, "00"),
    "marks": Fault(Defect.MARKS, "strobe", {"ends, breaks}": "ends, 1'b0}"}, "C2 00"),
    "end": Fault(Defect.END, "strobe", {"|| ends": ""}, "E0 A0"),
    "last": Fault(Defect.END, "surrogates", {END: END.replace(";", " && left == 0;")}, "C2 80", MENDED),
    "hangs": Fault(Defect.HANGS, "surrogates", {READY: f"{READY} && s_data != 8'hFF", ACCEPTED: IGNORED}, "FF", MENDED),
    "protocol": Fault(
        *(Defect.PROTOCOL, "surrogates", {"".join(FREE): " || left == 0 && m_error && !s_valid".join(FREE)}),
        *("80, output pauses 1110", MENDED),
    ),
    "leaks": Fault(Defect.LEAKS, "surrogates", {"if (s_last) left <= 0;": ""}, "C2 | 00", MENDED),
    "pauses": Fault(
        Defect.PAUSES, "surrogates", {READY: "assign s_ready = !breaks"}, "C2 5A, output pauses 10", MENDED
    ),
}
"""By name a core with one defect only."""

CAUSES = {
    "accepts": ["INVALID_BYTE"],
    "corrupts": [f"well-formed, {count} bytes" for count in (2, 3, 4)],
    "marks": ["OVERLONG", "SURROGATE", "OUT_OF_RANGE", "TRUNCATED"],
    "end": ["INCOMPLETE"],
    "protocol": ["back-pressure"],
    "leaks": ["back-to-back texts"],
}
"""The rows of the table in which some of them differ."""


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", tiered({name: name for name in FAULTS}, ["accepts", "leaks"]))
def test_fault_has_one_defect_which_the_bench_shows(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    core = variant_of(tmp_path, fault.core, {**fault.mends, **fault.changes})
    report = check_foreign_core(core)
    (found,) = report.defects
    assert [row.cause for row in report.failed] == CAUSES.get(name, [row.cause for row in report.failed])
    assert (found.defect, found.shortest.input) == (fault.defect, fault.shortest)
    assert report.conforms_to is None
    if core.ports.kind == "decoder":
        assert found.shortest.expected == tuple(word for text in found.shortest.texts for word in spelt(text))
    assert_shown(core, found, fault, tmp_path)


def assert_shown(core: ForeignCore, found: Finding, fault: Fault, folder: Path) -> None:
    """Check that the test bench fails with a core and passes with the correct one, and the waveform shows it."""
    bench = foreign_testbench(core, found, ["core.v", "bench.v"])
    if shutil.which("iverilog") is None:
        pytest.skip(
            "the verdict is correct; Icarus Verilog (iverilog), which would run the test bench, is not installed"
        )
    (folder / "bench.v").write_text(bench, encoding="utf-8")
    status, said = run_bench(core.name, folder)
    assert said.startswith("FAIL: ")
    assert status != 0
    variant_of(folder, fault.core, fault.mends)
    assert run_bench(core.name, folder) == (0, "PASS\n")


def run_bench(name: str, folder: Path) -> tuple[int, str]:
    """The exit status of the test bench of a core in Icarus Verilog, and what it prints."""
    done = run_icarus(folder, ["core.v", "bench.v"], "-Wall", "-Wno-timescale", top=f"{name}_bench")
    return done.returncode, done.stdout


@requires_graph
@pytest.mark.slow
def test_core_may_conform_to_another_practice() -> None:
    report = report_of("strobe", Practice.EACH_UNIT)
    assert report.conforms_to is Practice.MAXIMAL_SUBPARTS
    assert {each.defect for each in report.defects} <= {Defect.MARKS, Defect.END}


def test_schema_has_every_defect_and_practice() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="requires the extra 'dev'")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    defect = SCHEMA["properties"]["verdict"]["properties"]["defects"]["items"]["properties"]["defect"]
    assert defect["enum"] == [*Defect]
    assert SCHEMA["$defs"]["practice"]["enum"] == [*Practice]
    assert SCHEMA["properties"]["version"]["const"] == SCHEMA_VERSION
