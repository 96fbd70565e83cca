# SPDX-License-Identifier: BSD-2-Clause
"""The verdict on foreign cores: one defect each, and its shortest input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from support.engines import requires_graph
from support.foreign_cores import report_of, spelt, use_few_texts, variant_of
from support.tiers import tiered

from utf8fpga.cli.check import SCHEMA_VERSION
from utf8fpga.model import Practice
from utf8fpga.sim.causes import check_foreign_core
from utf8fpga.sim.report import Defect

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
    "continuation": Fault(Defect.ACCEPTS, "strobe", {"&& data[7]": "&& data >= 8'h81"}, "80"),
    "verdict of before": Fault(Defect.LEAKS, "validator", {"wrong <= !s_last && bad": "wrong <= bad"}, "80 | 00"),
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


SEVERAL = {
    # F4 8F is no maximal subpart of this core, also if the text ends or another byte follows.
    ("high <= 8'h8F", "high <= 8'h8E"): {
        (Defect.CORRUPTS, "F4 8F 80 80"),
        (Defect.MARKS, "F4 8F 00"),
        (Defect.END, "F4 8F"),
    },
    ("8'hE0: low <= 8'hA0", "8'hE0: low <= 8'h9F"): {(Defect.ACCEPTS, "E0 9F 80"), (Defect.MARKS, "E0 9F")},
    ("{full ||", "{full && !breaks ||"): {(Defect.ITEMS, "C2 00"), (Defect.MARKS, "C2 C0")},
}
"""By what is replaced in the core `strobe` its defects, each with the shortest input."""


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(("old", "new"), SEVERAL)
def test_fault_may_have_several_defects(old: str, new: str, tmp_path: Path) -> None:
    report = check_foreign_core(variant_of(tmp_path, "strobe", {old: new}))
    assert {(each.defect, each.shortest.input) for each in report.defects} == SEVERAL[old, new]


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", tiered({name: name for name in FAULTS}, ["accepts", "leaks"]))
def test_fault_has_one_defect(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    core = variant_of(tmp_path, fault.core, {**fault.mends, **fault.changes})
    report = check_foreign_core(core)
    (found,) = report.defects
    assert [row.cause for row in report.failed] == CAUSES.get(name, [row.cause for row in report.failed])
    assert (found.defect, found.shortest.input) == (fault.defect, fault.shortest)
    assert report.conforms_to is None
    if core.ports.kind == "decoder":
        assert found.shortest.expected == tuple(word for text in found.shortest.texts for word in spelt(text))


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
