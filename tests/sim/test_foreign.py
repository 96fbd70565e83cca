# SPDX-License-Identifier: BSD-2-Clause
"""The check of foreign cores: each fault is found for its cause, with the shortest input, and correct cores pass."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engines import requires_graph
from support.foreign_cores import CORES, FOLDER, core_of, report_of, row_of, spelt, use_few_texts, variant_of
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.bench.design import foreign_core
from utf8fpga.hdl import axi_verilog, decoder_core
from utf8fpga.model import ErrorKind, Practice
from utf8fpga.sim import Simulation, compare
from utf8fpga.sim.causes import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import CoreError, read_module
from utf8fpga.sim.foreign_ports import CheckedPorts, read_checked_ports
from utf8fpga.sim.foreign_simulation import ForeignSimulation
from utf8fpga.sim.report import Defect

pytestmark = requires_graph

CORRECT = ("strobe", "validator")


@pytest.mark.parametrize("name", tiered({name: name for name in CORRECT}, ["validator"]))
def test_correct_core_passes(name: str) -> None:
    report = report_of(name)
    assert (report.failed, report.defects, report.conforms_to) == ((), (), Practice.MAXIMAL_SUBPARTS)
    checked = {row.cause: row.texts for row in report.rows if not row.not_checked}
    assert set(checked) >= {*(kind.name for kind in ErrorKind), "back-to-back texts"}
    # All texts of one and two bytes, all code points, and those of the other kinds.
    assert sum(checked.values()) > 256 + 256**2 + 0x110000 // 1024
    assert all(checked.values())


few_texts = pytest.fixture(use_few_texts)


@pytest.mark.usefixtures("few_texts")
def test_core_with_the_wrong_number_of_marks() -> None:
    report = check_foreign_core(core_of("marks"))
    found = {row.cause: row.shortest and row.shortest.texts for row in report.failed}
    assert found == {"OVERLONG": (b"\xc0\x80",), "SURROGATE": (b"\xed\xa0",), "OUT_OF_RANGE": (b"\xf4\x90",)}
    for text in (b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80"):
        assert core_output("marks", text) == ["!FFFD"]
        assert len(spelt(text)) == len(text)
    found = row_of(report, "OVERLONG").shortest
    assert (found.expected, found.given) == (spelt(b"\xc0\x80"), ("!FFFD",))
    assert (found.expected_marks, found.given_marks) == (2, 1)
    # Its marks are Kuhn's malformed sequences.
    assert report.accepted == ()
    assert next(iter(report.agreement)) is Practice.MALFORMED_SEQUENCE


def core_output(name: str, text: bytes) -> list[str]:
    """What a core outputs for a text; ``!`` is the error flag."""
    (outcome,) = ForeignSimulation(core_of(name)).run([(text,)])
    return [f"{'!' if word >> 32 & 1 else ''}{word & 0xFFFFFFFF:04X}" for word in outcome.words]


def test_a_foreign_core_is_simulated_and_compared_like_any_other() -> None:
    core = core_of("surrogates")
    simulation = Simulation(core, core.entry, engine="graph")
    well_formed = "né€😀".encode()
    assert compare(simulation, well_formed, output_pauses=[True, False], null_beats=[True, False]) is None
    assert compare(simulation, well_formed * 1000 + b"\xff\xe2\x82") is None
    found = compare(simulation, well_formed + b"\xed\xa0\x80")
    assert bytes(found.units) == b"\xed\xa0"
    assert str(found).splitlines()[-1] == "  replay:    none, since the core is foreign"


VIOLATIONS = {
    "ready = 0, valid = 0, point = 0": "input.ready was deasserted for 2048 cycles",
    "ready = 1, valid = 1, point = count": "the output changed or was withdrawn before its transfer",
    "ready = 1, valid = count[1], point = 0": "the output changed or was withdrawn before its transfer",
    "ready = 1, valid = 1, point = 0": "there is no end of the output",
    "ready = take, valid = send, point = 0, keep = 1": "keep selects a part of a word",
}
"""By what a core does the error."""


@pytest.mark.parametrize(("body", "reason"), VIOLATIONS.items(), ids=VIOLATIONS)
def test_violation_of_the_protocol_is_the_reason_of_an_outcome(body: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(
        "module m(input clk, input [7:0] data, input send, take, output ready, valid, output [20:0] point,"
        f" output [1:0] keep); reg [20:0] count = 0; always @(posedge clk) count <= count + 1; assign {body}; endmodule"
    )
    given, output = {"byte": "data", "valid": "send"}, {"code_point": "point", "valid": "valid"}
    output |= {"keep": "keep"} if "keep" in body else {}
    ports = CheckedPorts(input=given | {"ready": "ready"}, output=output | {"ready": "take"})
    simulation = ForeignSimulation(ForeignCore([tmp_path / "core.v"], None, ports))
    assert [each.reason for each in simulation.run([[b"A"]] * 2, output_pauses=[True, False])] == [reason] * 2


# Variants of the cores, each with one fault.


COUNTED = {
    "reg [7:0] low, high;": "reg [7:0] low, high; reg [12:0] bytes; reg [3:0] texts;",
    "{valid, left} <= 0;": "{valid, left, bytes, texts} <= 0;",
    "left <= last ? 0 : more;": "left <= last ? 0 : more; bytes <= last ? 0 : bytes + 1; texts <= texts + last;",
}
"""The core `strobe` with the numbers of bytes in the text and of texts since the reset."""


@pytest.mark.usefixtures("few_texts")
def test_item_lost_in_a_long_text_is_found(tmp_path: Path) -> None:
    change = {"full || ends, breaks": "(full || ends) && bytes != 5000, breaks"}
    report = check_foreign_core(variant_of(tmp_path, "strobe", COUNTED | change))
    assert [row.cause for row in report.failed] == ["long texts"]
    (found,) = report.defects
    assert found.defect in (Defect.ITEMS, Defect.MARKS)
    # The item that is lost ends at the byte with the offset 5000, or a little later in another text.
    assert 5001 <= len(found.shortest.texts[0]) <= 5012


@pytest.mark.usefixtures("few_texts")
def test_wrong_word_in_the_tenth_text_after_a_reset_is_found(tmp_path: Path) -> None:
    change = {"full && !wrong ? value": "full && !wrong ? value ^ (texts == 9)"}
    report = check_foreign_core(variant_of(tmp_path, "strobe", COUNTED | change))
    assert [row.cause for row in report.failed] == ["many texts"]
    (found,) = report.defects
    assert found.defect is Defect.LEAKS
    assert len(found.shortest.texts) == 10


# By the bytes of each cause; a text that contains another accepted one is not listed.
ACCEPTED = {
    "verdict": (
        *("validator", "bad || after != 0", "bad"),
        {"INCOMPLETE": (0xF4 - 0xC2 + 1, b"\xc2", "well-formed")},
    ),
    "bytes as they are": (
        "strobe",
        "!continues && data[7]",
        "0",
        {
            "UNEXPECTED_CONTINUATION": (0xBF - 0x80 + 1, b"\x80", "0080"),
            "INVALID_BYTE": (0xFF - 0xF8 + 1, b"\xf8", "00F8"),
            "OVERLONG": (0xC1 - 0xC0 + 1, b"\xc0", "00C0"),
            "OUT_OF_RANGE": (0xF7 - 0xF5 + 1, b"\xf5", "00F5"),
        },
    ),
    "no marks": ("strobe", "{full || ends, breaks}", "{full && !wrong, 1'b0}", {}),
}


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(("name", "old", "new", "accepted"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_texts_are_listed_by_cause(
    name: str, old: str, new: str, accepted: dict[str, tuple[int, bytes, str]], tmp_path: Path
) -> None:
    report = check_foreign_core(variant_of(tmp_path, name, {old: new}))
    assert report.failed
    found = {each.cause: (each.texts, *each.first.texts, *each.first.given) for each in report.accepted}
    assert found == accepted


ENDS = {
    # The end is beside no word: it follows two cycles later.
    "decoder": (
        "strobe",
        "output reg [63:0] code_point\n);",
        "output reg [63:0] code_point, output reg end_of_text\n);\n"
        "  reg ended; always @(posedge clk) {end_of_text, ended} <= {ended, strobe && last};",
        ('"code_point"', '"code_point", last = "end_of_text"'),
    ),
    "validator": (
        "validator",
        "input m_ready",
        "input m_ready, output m_last",
        ('last = "m_valid"', 'last = "m_last"'),
    ),
}


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(("name", "old", "new", "ports"), ENDS.values(), ids=ENDS)
def test_ends_of_texts_are_a_finding_of_their_own(
    name: str, old: str, new: str, ports: tuple[str, str], tmp_path: Path
) -> None:
    report = check_foreign_core(variant_of(tmp_path, name, {old: new}, ports=ports))
    assert [row.cause for row in report.failed] == ["ends of texts"]
    row = row_of(report, "ends of texts")
    assert row.failed == row.texts == report.runs
    assert row.shortest.reason == "output.last is not at the ends of the texts"
    assert report.accepted == ()


@pytest.mark.usefixtures("few_texts")
def test_row_without_runs_states_its_reason(tmp_path: Path) -> None:
    # Every code point is wrong, and so is each text with one after an ill-formed sequence; ill-formed ones are correct.
    report = check_foreign_core(variant_of(tmp_path, "strobe", {"full && !wrong ? value : 21'hFFFD": "21'hFFFD"}))
    row = row_of(report, "resynchronisation")
    assert (row.texts, row.not_checked) == (0, "each of its texts contains a shorter one that differs")
    assert row_of(report, "ends of texts").not_checked == "the ports have no output.last"
    assert row_of(report, "UNEXPECTED_CONTINUATION").texts > row_of(report, "UNEXPECTED_CONTINUATION").failed == 0


# Ports.

WIDE = """
module wide(input clk, input [15:0] data, input [1:0] keep, input valid, output ready, output [63:0] point,
            output [1:0] error, output [3:0] out_keep, output out_valid);
  assign {ready, point, error, out_keep, out_valid} = 0;
endmodule
"""

OUTPUTS = ("ready", "point", "error", "out_keep", "out_valid")

WIDE_PORTS = """
input = { byte = "data", keep = "keep", valid = "valid", ready = "ready" }
output = { code_point = "point", keep = "out_keep", valid = "out_valid", error = "error" }
"""

SETTINGS = {
    "protocol = 'spi'": "protocol = 'spi' is neither 'axi-stream' nor 'strobe'",
    "protocol = 'strobe'": "protocol = 'strobe' has no back-pressure: leave out input.ready",
    "kind = 'validator'": "output.code_point is not that of kind = 'validator': leave it out",
    "lanes = true": "lanes = True is not an integer",
    "lanes = 0": "lanes = 0 is not above 0",
    "clock = 'ck'": "wide has no input 'ck' for its clock (inputs: clk, data, keep, valid)",
}
"""By line of a description the error."""

POINT = "output.code_point 'point'"
CHANGES = [
    ("valid = ", "strobe = ", "unknown key 'input.strobe' (known: byte, valid, ready, last, keep)"),
    ('"valid"', "1", "input.valid = 1 is not the name of a port"),
    ('byte = "data", ', "", "input.byte is missing: name the port"),
    ("output = ", "output = { }\n#", "output.code_point is missing: name the port"),
    (', ready = "ready"', "", "input.ready is missing: name the port, or choose protocol = 'strobe'"),
    ('_valid"', '_valid", last = "out_valid"', "output.last requires input.last: name both ports or neither"),
    ('"data"', '"byte"', "wide has no input 'byte' for input.byte (inputs: data, keep, valid)"),
    ('"point"', '"word"', f"wide has no output 'word' for output.code_point (outputs: {', '.join(OUTPUTS)})"),
    ('"point"', '"keep"', "wide has no output 'keep' for output.code_point"),
    ('"point"', '"out_keep"', "output.code_point 'out_keep' has 4 bits: it must have at least 21"),
    ('keep = "out_keep", ', "", f"{POINT} has 2 words: name the port output.keep, too"),
    ('keep = "keep", ', "", "input.byte 'data' has 2 bytes: name the port input.keep, too"),
    ('"valid", ready', '"keep", ready', "input.valid 'keep' has 2 bits, not 1"),
    ('keep = "keep"', 'keep = "data"', "the input 'data' of wide is named twice"),
    ('error = "error"', 'error = "point"', "output.error 'point' has 64 bits, not 2"),
    *(("\ninput", f"\n{line}\ninput", message) for line, message in SETTINGS.items()),
]
"""What is replaced in the description, and the error."""


@pytest.mark.parametrize(("old", "new", "message"), CHANGES, ids=[message[:30] for _, _, message in CHANGES])
def test_wrong_description_is_rejected(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(WIDE)
    assert old in WIDE_PORTS
    (tmp_path / "ports.toml").write_text(WIDE_PORTS.replace(old, new))

    def core() -> ForeignCore:
        return ForeignCore([tmp_path / "core.v"], None, read_checked_ports(tmp_path / "ports.toml"))

    prefix, _, rest = refusal(CoreError, core).partition(": ")
    assert prefix in (f"{tmp_path}/core.v", f"{tmp_path}/ports.toml")
    assert rest.startswith(message)


CIRCUITS = {
    "falling edge": ("always @(negedge clk) q <= d;", "m has a register for the falling edge of 'clk' (line 1)"),
    "another clock": ("always @(posedge d[0]) q <= d;", "m has a register with another clock than 'clk' (line 1)"),
    "latch": ("always @* if (v) q = d;", "m has a latch (line 1): only registers can be simulated"),
    "missing module": (
        "other x(d);",
        "ERROR: Module `\\other' referenced in module `\\m' in cell `\\x' is not part of the design.",
    ),
    "no Verilog": ("q = ;", ":1: ERROR: syntax error"),
}


@pytest.mark.parametrize(("body", "message"), CIRCUITS.values(), ids=CIRCUITS)
def test_circuit_that_cannot_be_simulated_is_rejected(body: str, message: str, tmp_path: Path) -> None:
    text = f"module m(input clk, input [7:0] d, input v, output reg [20:0] q, output w); {body} endmodule"
    (tmp_path / "core.v").write_text(text)
    ports = CheckedPorts(protocol="strobe", input={"byte": "d", "valid": "v"}, output={"code_point": "q", "valid": "w"})
    said = refusal(CoreError, ForeignCore, [tmp_path / "core.v"], "m", ports)
    assert said.startswith(f"{tmp_path}/core.v{'' if message[0] == ':' else ': '}{message}")


def test_files_without_the_module_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.v").write_text("")
    for top, message in ((None, "it has no module that can be the top"), ("m", "ERROR: Module `m' not found!")):
        assert f"{tmp_path}/empty.v: {message}" in refusal(CoreError, ForeignCore, [tmp_path / "empty.v"], top)
    with pytest.raises(CoreError, match=r"cannot read '.*none.v': No such file or directory"):
        ForeignCore([tmp_path / "none.v"])


MODULE = "module m(input clk, input [7:0] d, output [7:0] q); assign q = d; endmodule\n"


@pytest.mark.parametrize("name", ["x.* ; exec -- touch pwned", "x.v (copy)", "x.V", "core"])
@pytest.mark.parametrize("read", [read_module, foreign_core, ForeignCore])
def test_files_of_other_kinds_are_rejected(read: Callable[[list[Path]], object], name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(MODULE)
    message = "the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)"
    assert refusal(CoreError, read, [tmp_path / name]) == f"{tmp_path}/{name}: {message}"


@pytest.mark.parametrize("name", ["x;tee${IFS}pwned", "!touch${IFS}pwned", "a#", "*", "-auto-top"])
def test_name_of_a_module_that_is_more_to_yosys_is_rejected(name: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(MODULE.replace("module m(", f"module \\{name} ("))
    for top in (None, name):
        assert refusal(CoreError, read_module, [tmp_path / "core.v"], top) == f"{name!r} is not the name of a module"


def test_files_without_an_end_are_rejected(tmp_path: Path) -> None:
    fifo, large = tmp_path / "fifo.v", tmp_path / "large.toml"
    os.mkfifo(fifo)
    large.write_text("#" * ((1 << 20) + 1))
    ports = FOLDER / CORES["leaky"]
    for core, description, message in (
        (fifo, ports, f"cannot read '{fifo}': it is a FIFO, not a regular file"),
        (FOLDER / "leaky.v", fifo, f"cannot read '{fifo}': it is a FIFO, not a regular file"),
        (FOLDER / "leaky.v", Path("/dev/zero"), "cannot read '/dev/zero': it is a device, not a regular file"),
        (FOLDER / "leaky.v", large, f"cannot read '{large}': it has more than 1048576 characters"),
    ):
        with pytest.raises(CoreError, match=f"^{re.escape(message)}$"):
            ForeignCore([core], None, read_checked_ports(description))


# Other outputs.


@pytest.mark.slow
def test_another_practice_is_selectable() -> None:
    report = report_of("strobe", Practice.EACH_UNIT)
    # A maximal subpart of several bytes is one mark of this core, but one for each byte in this practice.
    found = row_of(report, "INCOMPLETE").shortest
    assert (found.texts, found.expected_marks, found.given_marks) == ((b"\xe0\xa0",), 2, 1)
    assert row_of(report, "UNEXPECTED_CONTINUATION").failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_generated_verilog_passes(lanes: int, tmp_path: Path) -> None:
    (tmp_path / "d.v").write_text(axi_verilog(decoder_core(lanes=lanes)), encoding="utf-8")
    report = check_foreign_core(ForeignCore([tmp_path / "d.v"]))
    assert report.failed == ()
    assert all(not row.not_checked for row in report.rows)
    assert report.best.cycles_per_byte == report.worst.cycles_per_byte == 1 / lanes


@pytest.mark.usefixtures("few_texts")
def test_texts_are_separated_by_resets_without_an_end(tmp_path: Path) -> None:
    ports = (', last = "last"', " }\nconstants = { last = 0")
    assert check_foreign_core(variant_of(tmp_path, "strobe", {}, ports=ports)).failed == ()
    report = check_foreign_core(variant_of(tmp_path, "strobe", {"{valid, left} <= 0": "valid <= 0"}, ports=ports))
    assert [(row.cause, row.shortest.input) for row in report.failed] == [("back-to-back texts", "C2 | 00")]
