# SPDX-License-Identifier: BSD-2-Clause
"""Foreign cores: the descriptions of their ports, how they are read, and what violates the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.engines import requires_graph
from support.oracle import refusal

from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import CoreError, read_description

pytestmark = requires_graph

VIOLATIONS = {
    "ready = 0, valid = 0, point = 0": "input.ready was deasserted for 2048 cycles",
    "ready = 1, valid = 1, point = count": "the output changed or was withdrawn before its transfer",
    "ready = 1, valid = count % 3 == 0, point = 0": "the output changed or was withdrawn before its transfer",
    "ready = 1, valid = 1, point = 0": "there is no end of the output",
}
"""By what a core does the error."""


@pytest.mark.parametrize(("body", "reason"), VIOLATIONS.items(), ids=VIOLATIONS)
def test_violation_of_the_protocol_is_the_reason_of_an_outcome(body: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(
        "module m(input clk, input [7:0] data, input send, take, output ready, valid, output [20:0] point);"
        f" reg [20:0] count = 0; always @(posedge clk) count <= count + 1; assign {body}; endmodule"
    )
    given = {"byte": "data", "valid": "send", "ready": "ready"}
    ports = {"input": given, "output": {"code_point": "point", "valid": "valid", "ready": "take"}}
    core = ForeignCore([tmp_path / "core.v"], None, ports)
    assert [each.reason for each in core.run([[b"A"]] * 2, ("0", "10"))] == [reason] * 2


WIDE = """
module wide(input clk, input [15:0] data, input [1:0] keep, input valid, output ready, output [63:0] point,
            output [1:0] error, output [3:0] out_keep, output out_valid);
  assign {ready, point, error, out_keep, out_valid} = 0;
endmodule
"""

WIDE_PORTS = """
input = { byte = "data", keep = "keep", valid = "valid", ready = "ready" }
output = { code_point = "point", keep = "out_keep", valid = "out_valid", error = "error" }
"""

INPUTS, OUTPUTS = "data 16, keep 2, valid 1", "ready 1, point 64, error 2, out_keep 4, out_valid 1"
POINT = "for output.code_point is no port of"
CHANGES = [
    ("valid = ", "strobe = ", "unknown key 'input.strobe' (known: "),
    ('"valid"', "1", "input.valid = 1 is not a string"),
    ('byte = "data", ', "", "input.byte is missing: name the port"),
    ("output = ", "output = { }\n#", "output.valid is missing: name the port"),
    ('_valid"', '_valid", last = "out_valid"', "input.last is missing: name the port"),
    ('"data"', '"byte"', f"'byte' for input.byte is no port of 8 bits; with --ports, name one of {INPUTS}"),
    ('"point"', '"word"', f"'word' {POINT} 21 bits; with --ports, name one of {OUTPUTS}"),
    ('"point"', '"keep"', f"'keep' {POINT} 21 bits; with --ports, name one of {OUTPUTS}"),
    ('keep = "out_keep", ', "", "output.keep is missing: name the port"),
    ('keep = "keep", ', "", "input.keep is missing: name the port"),
    (', ready = "ready"', "", None),
    ('valid = "valid", ', 'valid = "out_valid", ', "'out_valid' for input.valid is no port of 1 bits"),
    ('error = "error"', 'error = "point"', "'point' for output.error is no port of 2 bits"),
    ("\ninput", "\nlanes = '1'\ninput", "lanes = '1' is not an integer"),
    (
        "\ninput",
        "\nclock = 'ck'\ninput",
        "wide has no input 'ck' of one bit: name the clock and the reset with --ports",
    ),
    ("\ninput", "\nconstants = { keep = 4 }\ninput", "wide has no input 'keep' into which the constant 4 fits"),
]
"""What is replaced in the description, and the error."""


@pytest.mark.parametrize(("old", "new", "message"), CHANGES, ids=[str(message)[:30] for _, _, message in CHANGES])
def test_wrong_description_is_rejected(old: str, new: str, message: str | None, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(WIDE)
    assert old in WIDE_PORTS
    (tmp_path / "ports.toml").write_text(WIDE_PORTS.replace(old, new))

    def core() -> ForeignCore:
        return ForeignCore([tmp_path / "core.v"], None, read_description(tmp_path / "ports.toml"))

    if message is None:
        assert core().lanes == 2
        return
    prefix, _, rest = refusal(CoreError, core).partition(": ")
    assert prefix in (f"{tmp_path}/core.v", f"{tmp_path}/ports.toml")
    assert rest.startswith(message)


OTHER_EDGE = "m has a latch, or a register not for the rising edge of 'clk' (line 1."
CIRCUITS = {
    "falling edge": ("always @(negedge clk) q <= d;", OTHER_EDGE),
    "another clock": ("always @(posedge d[0]) q <= d;", OTHER_EDGE),
    "latch": ("always @* if (v) q = d;", OTHER_EDGE),
    "missing module": (
        "other x(d);",
        "ERROR: Module `\\other' referenced in module `\\m' in cell `\\x' is not part of the design.",
    ),
    "no Verilog": ("q = ;", ":1: ERROR: syntax error"),
}
PORTS = {"input": {"byte": "d", "valid": "v"}, "output": {"code_point": "q", "valid": "w"}}


@pytest.mark.parametrize(("body", "message"), CIRCUITS.values(), ids=CIRCUITS)
def test_circuit_that_cannot_be_simulated_is_rejected(body: str, message: str, tmp_path: Path) -> None:
    text = f"module m(input clk, input [7:0] d, input v, output reg [20:0] q, output w); {body} endmodule"
    (tmp_path / "core.v").write_text(text)
    said = refusal(CoreError, ForeignCore, [tmp_path / "core.v"], "m", PORTS)
    assert said.startswith(f"{tmp_path}/core.v{'' if message[0] == ':' else ': '}{message}")


def test_input_without_a_role_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(WIDE.replace("input valid", "input valid, enable"))
    (tmp_path / "ports.toml").write_text(WIDE_PORTS)
    description = read_description(tmp_path / "ports.toml")
    said = refusal(CoreError, ForeignCore, [tmp_path / "core.v"], None, description)
    assert said == f"{tmp_path}/core.v: neither named nor constant are the inputs enable"


MODULE = "module m(input clk, input [7:0] d, output [7:0] q); assign q = d; endmodule\n"


@pytest.mark.parametrize("name", ["x.* ; exec -- touch pwned", "x.v (copy)", "x.V", "core"])
def test_files_of_other_kinds_are_rejected(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(MODULE)
    message = "the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)"
    assert refusal(CoreError, ForeignCore, [tmp_path / name]) == f"{tmp_path}/{name}: {message}"


@pytest.mark.parametrize("name", ["x;tee${IFS}pwned", "!touch${IFS}pwned", "a#", "*", "-auto-top"])
def test_name_of_a_module_that_is_more_to_yosys_is_rejected(name: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(MODULE.replace("module m(", f"module \\{name} ("))
    for top in (None, name):
        assert refusal(CoreError, ForeignCore, [tmp_path / "core.v"], top) == f"{name!r} is not the name of a module"


def test_files_without_the_module_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.v").write_text("")
    for top, message in ((None, "ERROR: No top module found!"), ("m", "ERROR: Module `m' not found!")):
        assert f"{tmp_path}/empty.v: {message}" in refusal(CoreError, ForeignCore, [tmp_path / "empty.v"], top)
    with pytest.raises(CoreError, match=r"cannot read '.*none.v': No such file or directory"):
        ForeignCore([tmp_path / "none.v"])
