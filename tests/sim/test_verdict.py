# SPDX-License-Identifier: BSD-2-Clause
"""The verdict on foreign cores: correct ones conform, and each fault has its defects, each with the shortest input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from support.engines import requires_graph
from support.foreign_cores import core_of, row_of, spelt, use_few_texts, variant_of
from support.tiers import tiered

from utf8fpga.cli.check import SCHEMA_VERSION
from utf8fpga.hdl import axi_verilog, decoder_core
from utf8fpga.model import ErrorKind, Practice
from utf8fpga.sim.foreign_check import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.report import Defect

SCHEMA = json.loads(files("utf8fpga.cli").joinpath("check.schema.json").read_text(encoding="utf-8"))

few_texts = pytest.fixture(use_few_texts)


@requires_graph
@pytest.mark.parametrize("name", tiered({name: name for name in ("strobe", "validator")}, ["validator"]))
def test_correct_core_conforms(name: str) -> None:
    report = check_foreign_core(core_of(name))
    assert (report.failed, report.defects) == ((), ())
    checked = {row.name: row.runs for row in report.causes if row.runs}
    assert set(checked) >= {*(kind.name for kind in ErrorKind), "back-to-back texts"}
    # All texts of one and two bytes, all code points, and those of the other kinds.
    assert sum(checked.values()) > 256 + 256**2 + 0x110000 // 1024


class Fault(NamedTuple):
    """A fault in a core of `CORES`.

    Attributes:
        defects: the defects, each with its shortest input.
        causes: the rows that differ; None for any.
        ports: what is replaced in the description of the ports.
    """

    core: str
    changes: Mapping[str, str]
    defects: Mapping[Defect, str]
    causes: list[str] | None = None
    ports: tuple[str, str] = ("", "")


# The core `surrogates` is correct with this.
MENDED = {"high <= s_data == 8'hF4": "high <= s_data == 8'hED ? 8'h9F : s_data == 8'hF4"}
FREE = "    end else if (free", ") begin\n      m_valid <= 0;"
READY = "assign s_ready = free && !breaks"
ACCEPTED, IGNORED = "end else if (s_valid) begin", "end else if (s_valid && s_data != 8'hFF) begin"
END = "m_last <= s_last && !breaks;"
HANGING = {READY: f"{READY} && s_data != 8'hFF", ACCEPTED: IGNORED}
UNSTEADY = {"".join(FREE): " || left == 0 && m_error && !s_valid".join(FREE)}
# The end is beside no word: it follows two cycles later.
LATE_END = {
    "output reg [63:0] code_point\n);": "output reg [63:0] code_point, output reg end_of_text\n);\n"
    "  reg ended; always @(posedge clk) {end_of_text, ended} <= {ended, strobe && last};"
}
WITHOUT_END = (', last = "last"', " }\nconstants = { last = 0")
COUNTED = {
    "reg [7:0] low, high;": "reg [7:0] low, high; reg [12:0] bytes; reg [3:0] texts;",
    "{valid, left} <= 0;": "{valid, left, bytes, texts} <= 0;",
    "left <= last ? 0 : more;": "left <= last ? 0 : more; bytes <= last ? 0 : bytes + 1; texts <= texts + last;",
}
"""The core `strobe` with the numbers of bytes in the text and of texts since the reset."""

FAULTS = {
    "none": Fault("surrogates", MENDED, {}),
    "no end": Fault("strobe", {}, {}, [], WITHOUT_END),
    "continuation": Fault("strobe", {"&& data[7]": "&& data >= 8'h81"}, {Defect.ACCEPTS: "80"}),
    "accepts": Fault(
        *("strobe", {"continues && data[7]": "continues && data[7] && data != 8'hFE"}, {Defect.ACCEPTS: "FE"}),
        ["INVALID_BYTE"],
    ),
    "corrupts": Fault(
        *("strobe", {"{code, data[5:0]}": "{code[13:0], data[6:0]}"}, {Defect.CORRUPTS: "C2 80"}),
        [f"well-formed, {count} bytes" for count in (2, 3, 4)],
    ),
    "rejects": Fault("validator", {"bad || after != 0": "bad || after != 0 || s_data == 0"}, {Defect.CORRUPTS: "00"}),
    "loses": Fault("strobe", {"full = more == 0": "full = more == 0 && data != 0"}, {Defect.ITEMS: "00"}),
    "marks": Fault(
        *("strobe", {"ends, breaks}": "ends, 1'b0}"}, {Defect.MARKS: "C2 00"}),
        ["OVERLONG", "SURROGATE", "OUT_OF_RANGE", "TRUNCATED"],
    ),
    # Its marks are Kuhn's malformed sequences.
    "another practice": Fault("marks", {}, {Defect.MARKS: "C0 80"}, ["OVERLONG", "SURROGATE", "OUT_OF_RANGE"]),
    "end": Fault("strobe", {"|| ends": ""}, {Defect.END: "C2"}, ["INCOMPLETE"]),
    "last": Fault("surrogates", MENDED | {END: END.replace(";", " && left == 0;")}, {Defect.END: "C2 80"}),
    "late last": Fault(
        *("strobe", LATE_END, {Defect.END: "00"}, ["ends of texts"]),
        ('"code_point"', '"code_point", last = "end_of_text"'),
    ),
    "no last": Fault(
        *("validator", {"input m_ready": "input m_ready, output m_last"}, {Defect.END: "00"}, ["ends of texts"]),
        ('last = "m_valid"', 'last = "m_last"'),
    ),
    "hangs": Fault("surrogates", MENDED | HANGING, {Defect.HANGS: "FF"}),
    "protocol": Fault("surrogates", MENDED | UNSTEADY, {Defect.PROTOCOL: "80, output pauses 1110"}, ["pauses"]),
    "leaks": Fault(
        *("surrogates", MENDED | {"if (s_last) left <= 0;": ""}, {Defect.LEAKS: "C2 | 00"}, ["back-to-back texts"])
    ),
    "leaks at a reset": Fault(
        *("strobe", {"{valid, left} <= 0": "valid <= 0"}, {Defect.LEAKS: "C2 | 00"}, ["back-to-back texts"]),
        WITHOUT_END,
    ),
    "verdict of before": Fault("validator", {"wrong <= !s_last && bad": "wrong <= bad"}, {Defect.LEAKS: "80 | 00"}),
    "pauses": Fault(
        "surrogates", MENDED | {READY: "assign s_ready = !breaks"}, {Defect.PAUSES: "C2 5A, output pauses 10"}
    ),
    # F4 8F is no maximal subpart of this core, also if the text ends or another byte follows.
    "last row": Fault(
        *("strobe", {"high <= 8'h8F": "high <= 8'h8E"}),
        {Defect.CORRUPTS: "F4 8F 80 80", Defect.MARKS: "F4 8F 00", Defect.END: "F4 8F"},
    ),
    "overlong": Fault(
        *("strobe", {"8'hE0: low <= 8'hA0": "8'hE0: low <= 8'h9F"}, {Defect.ACCEPTS: "E0 9F 80", Defect.MARKS: "E0 9F"})
    ),
    "break": Fault("strobe", {"{full ||": "{full && !breaks ||"}, {Defect.ITEMS: "C2 00", Defect.MARKS: "C2 C0"}),
}


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", tiered({name: name for name in FAULTS}, ["accepts", "leaks"]))
def test_fault_has_its_defects(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    core = variant_of(tmp_path, fault.core, fault.changes, ports=fault.ports)
    report = check_foreign_core(core)
    assert {each.name: each.shortest.input for each in report.defects} == fault.defects
    assert fault.causes in (None, [row.name for row in report.failed])
    for found in (each.shortest for each in report.defects if core.has_end and not core.is_validator):
        assert found.expected == tuple(word for text in found.texts for word in spelt(text))


@requires_graph
@pytest.mark.usefixtures("few_texts")
def test_item_lost_in_a_long_text_and_wrong_word_in_the_tenth_text_are_found(tmp_path: Path) -> None:
    changes = {"full && !wrong ? value": "full && !wrong ? value ^ (texts == 9)"}
    (found,) = check_foreign_core(variant_of(tmp_path, "strobe", COUNTED | changes)).defects
    assert (found.name, len(found.shortest.texts)) == (Defect.LEAKS, 10)
    changes = {"full || ends, breaks": "(full || ends) && bytes != 5000, breaks"}
    report = check_foreign_core(variant_of(tmp_path, "strobe", COUNTED | changes))
    assert [row.name for row in report.failed] == ["long texts"]
    # The item that is lost ends at the byte with the offset 5000, or a little later in another text.
    assert 5001 <= len(report.defects[0].shortest.texts[0]) <= 5012


# By the bytes of each cause; a text that contains another accepted one is not listed.
ACCEPTED_TEXTS = {
    "verdict": (
        *("validator", {"bad || after != 0": "bad"}),
        {"INCOMPLETE": (0xF4 - 0xC2 + 1, "C2", "well-formed")},
    ),
    "bytes as they are": (
        *("strobe", {"!continues && data[7]": "0"}),
        {
            "UNEXPECTED_CONTINUATION": (0xBF - 0x80 + 1, "80", "0080"),
            "INVALID_BYTE": (0xFF - 0xF8 + 1, "F8", "00F8"),
            "OVERLONG": (0xC1 - 0xC0 + 1, "C0", "00C0"),
            "OUT_OF_RANGE": (0xF7 - 0xF5 + 1, "F5", "00F5"),
        },
    ),
    "no marks": ("strobe", {"{full || ends, breaks}": "{full && !wrong, 1'b0}"}, {}),
}


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(("name", "changes", "accepted"), ACCEPTED_TEXTS.values(), ids=ACCEPTED_TEXTS)
def test_accepted_texts_are_listed_by_cause(
    name: str, changes: dict[str, str], accepted: dict[str, tuple[int, str, str]], tmp_path: Path
) -> None:
    report = check_foreign_core(variant_of(tmp_path, name, changes))
    assert report.failed
    found = {each.name: (each.differ, each.shortest.input, *each.shortest.given) for each in report.accepted}
    assert found == accepted


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.slow
def test_core_is_compared_with_the_chosen_practice() -> None:
    report = check_foreign_core(core_of("strobe"), Practice.EACH_UNIT)
    assert {each.name for each in report.defects} == {Defect.MARKS, Defect.END}
    # A maximal subpart of several bytes is one mark of this core, but one for each byte in this practice.
    found = row_of(report, "INCOMPLETE").shortest
    assert (found.input, found.marks) == ("E0 A0", (2, 1))


@requires_graph
@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_generated_verilog_conforms(lanes: int, tmp_path: Path) -> None:
    (tmp_path / "d.v").write_text(axi_verilog(decoder_core(lanes=lanes)), encoding="utf-8")
    report = check_foreign_core(ForeignCore([tmp_path / "d.v"]))
    assert report.failed == ()
    assert all(row.runs for row in report.causes)


def test_schema_has_every_defect_and_practice() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="requires the extra 'dev'")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["defects"]["items"]["properties"]["name"]["enum"] == [*Defect]
    assert SCHEMA["properties"]["practice"]["enum"] == [*Practice]
    assert SCHEMA["properties"]["version"]["const"] == SCHEMA_VERSION
