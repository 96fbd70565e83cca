# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of foreign decoders: correct ones are proved, and a fault has a trace that the simulation confirms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.engines import requires_compiler
from support.foreign_cores import CORES, FOLDER, core_of
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.formal.foreign import PROVED, _texts, prove_foreign, require_provable
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import axi_verilog, decoder_core
from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.foreign_ports import read_checked_ports
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.foreign import ForeignSimulation

HANDSHAKE = read_checked_ports(FOLDER / CORES["leaky"])


@pytest.mark.proof
def test_correct_core_with_other_ports_is_proved(tmp_path: Path) -> None:
    text = (FOLDER / "leaky.v").read_text(encoding="utf-8")
    # The sequence that is open at the end of a text is forgotten.
    assert text.count("      end\n    end\n") == 1
    (tmp_path / "core.v").write_text(
        text.replace("      end\n    end\n", "        if (s_last) left <= 0;\n      end\n    end\n")
    )
    core = ForeignCore([tmp_path / "core.v"], None, HANDSHAKE)
    assert [prove_foreign(core, wanted).proved for wanted in PROVED] == [True, True]


def test_generated_verilog_is_proved(tmp_path: Path) -> None:
    (tmp_path / "d.v").write_text(axi_verilog(decoder_core(lanes=1)), encoding="utf-8")
    core = ForeignCore([tmp_path / "d.v"])
    assert [prove_foreign(core, wanted).proved for wanted in PROVED] == [True, True]


WIDE = """
module wide(input clk, rst, input [7:0] s_axis_tdata, input s_axis_tkeep, s_axis_tlast, s_axis_tvalid,
            output s_axis_tready, output [31:0] m_axis_tdata, output [3:0] m_axis_tkeep,
            output m_axis_tuser, m_axis_tlast, m_axis_tvalid, input m_axis_tready);
  wire [31:0] word;
  utf8_decoder decoder(clk, rst, s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tvalid, s_axis_tready, word,
                       m_axis_tkeep, m_axis_tuser, m_axis_tlast, m_axis_tvalid, m_axis_tready);
  assign m_axis_tdata = word | (word == 32'h41) << 21;
endmodule
"""


BYTES_ALWAYS = WIDE.replace("tdata, s_axis_tkeep,", "tdata, 1'b1,").replace("| (word == 32'h41) << 21", "")


@pytest.mark.parametrize(("wrapper", "text"), [(WIDE, b"A"), (BYTES_ALWAYS, b"")], ids=["bits above", "no byte"])
def test_all_bits_of_a_word_and_beats_without_a_byte_are_compared(wrapper: str, text: bytes, tmp_path: Path) -> None:
    (tmp_path / "wide.v").write_text(axi_verilog(decoder_core(lanes=1)) + wrapper, encoding="utf-8")
    proof = prove_foreign(ForeignCore([tmp_path / "wide.v"], "wide"), Property.EQUIVALENCE)
    assert proof.proved is False
    assert text in b"".join(proof.texts)


@pytest.mark.smoke
@requires_compiler
@pytest.mark.parametrize(
    "name", tiered({name: name for name in ("leaky", "surrogates")}, ["leaky"], tier=pytest.mark.proof)
)
def test_fault_has_a_trace_that_the_simulation_confirms(name: str) -> None:
    core = core_of(name)
    proof = prove_foreign(core, Property.EQUIVALENCE)
    assert proof.proved is False
    (outcome,) = ForeignSimulation(core).run([proof.texts])
    given = [word & 0xFFFFFFFF for word in outcome.words]
    expected = [ord(point) for text in proof.texts for point in text.decode("utf-8", "replace")]
    assert given != expected


def test_the_texts_of_a_trace_are_those_since_its_last_reset() -> None:
    def cycle(payload: int = 0, *, reset: int = 0, valid: int = 1, ready: int = 1) -> dict[str, int]:
        return {"see_reset": reset, "see_in_valid": valid, "see_in_ready": ready, "see_in_payload": payload}

    a, b, last = 0x141, 0x142, 0x200
    before = [cycle(a), cycle(reset=1)]
    trace = [*before, cycle(a), cycle(b, ready=0), cycle(b | last), cycle(last), cycle(a), cycle(b, valid=0)]
    assert _texts(decoder_core(), trace) == (b"AB", b"", b"A")


def test_sticky_error_is_not_proved() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^sticky = true contradicts a proof, .*: leave out --prove$"):
        require_provable(replace(read_checked_ports(FOLDER / CORES["leaky"]), sticky=True))


@pytest.mark.parametrize("name", ["strobe", "marks", "validator"])
def test_ports_without_a_proof_are_rejected(name: str) -> None:
    assert refusal(ValueError, require_provable, read_checked_ports(FOLDER / CORES[name])) == (
        "a proof is possible for kind = 'decoder' and protocol = 'axi-stream' with the ports input.last, "
        "output.last, output.ready and output.error: leave out --prove"
    )


def test_core_without_a_reset_is_rejected(tmp_path: Path) -> None:
    text = (FOLDER / "leaky.v").read_text(encoding="utf-8")
    (tmp_path / "core.v").write_text(text.replace("input rst,", "").replace("if (rst) begin", "if (0) begin"))
    core = ForeignCore([tmp_path / "core.v"], None, HANDSHAKE)
    with pytest.raises(InvalidArgumentError, match="leaky has no reset, from which a proof starts: leave out --prove"):
        prove_foreign(core, Property.EQUIVALENCE)
