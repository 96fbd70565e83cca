# SPDX-License-Identifier: BSD-2-Clause
"""Unbounded proofs that a foreign decoder is equal to the DFA of Table 3-7, for any input, pauses and resets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockSignal, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring

from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.properties import Harness, Property
from utf8fpga.hdl import DecoderParameters, beat_layout
from utf8fpga.model import TABLE_3_7, InvalidArgumentError
from utf8fpga.sim.foreign import CheckedPorts, Connections

__all__ = ["PROVED", "ForeignProof", "prove_foreign", "require_provable"]

PROVED = (Property.EQUIVALENCE, Property.STEADY)
"""The properties that are proved."""

_WRAPPER = "foreign_ports"

_IN_FLIGHT = 7
"""Upper bound on the cycles for which an item may be in flight, which limits the items that the monitors count."""


@dataclass(frozen=True)
class ForeignProof:
    """The result of a proof.

    Attributes:
        wanted: the property.
        proved: whether it holds; None if it is undecided.
        depth: the number of cycles examined.
        seconds: the time that it took.
        texts: the texts since the last reset of a trace in which it does not hold; the last one may be incomplete.
    """

    wanted: Property
    proved: bool | None
    depth: int
    seconds: float
    texts: tuple[bytes, ...] = ()


def require_provable(ports: CheckedPorts) -> None:
    """Check that cores with these ports can be proved.

    Raises:
        InvalidArgumentError: they cannot.
    """
    roles = {"last", "error", "ready"} <= ports.output.keys() and "last" in ports.input
    if ports.kind != "decoder" or ports.protocol != "axi-stream" or not roles:
        raise InvalidArgumentError(
            "a proof is possible for kind = 'decoder' and protocol = 'axi-stream' with the ports input.last, "
            "output.last, output.ready and output.error: leave out --prove"
        )


class _ForeignDecoder(wiring.Component):
    """A foreign decoder with the streams of a core, and the attributes that the monitors use."""

    latency = _IN_FLIGHT

    def __init__(self, constants: dict[str, int], replacement: bool) -> None:
        self.lanes = constants["LANES"]
        self.parameters = DecoderParameters(lanes=self.lanes, replacement=replacement)
        self._constants = constants
        super().__init__(self.parameters.ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        constants, lanes = self._constants, range(self.lanes)
        bits, kept = constants["WORD_BITS"], constants["WORD_KEEP"]
        words = Signal(bits * self.lanes)
        keep = Signal(kept * self.lanes)
        error = Signal(self.lanes)
        reset = ResetSignal() if constants["RESET_LEVEL"] else ~ResetSignal()
        m.submodules.core = Instance(
            _WRAPPER,
            i_clk=ClockSignal(),
            i_rst=reset,
            i_in_data=Value.cast(self.input.payload.symbols),
            i_in_keep=self.input.payload.keep,
            i_in_last=self.input.payload.last,
            i_in_valid=self.input.valid,
            o_in_ready=self.input.ready,
            o_out_data=words,
            o_out_keep=keep,
            o_out_error=error,
            o_out_last=self.output.payload.last,
            o_out_valid=self.output.valid,
            i_out_ready=self.output.ready,
        )
        for lane in lanes:
            word, symbol = words.word_select(lane, bits), self.output.payload.symbols[lane]
            point = symbol.code_point
            present = keep.word_select(lane, kept).all()
            m.d.comb += [
                # A word beyond the code points becomes one that is never correct.
                point.eq(Mux(word >> len(Value.cast(point)) == 0, word, (1 << len(Value.cast(point))) - 1)),
                symbol.error.eq(error[lane] & present),
            ]
        m.d.comb += self.output.payload.keep.eq(Cat(keep.word_select(lane, kept).all() for lane in lanes))
        return m


def prove_foreign(core: Connections, ports: CheckedPorts, wanted: Property, *, seconds: int = 600) -> ForeignProof:
    """Prove a property of a foreign decoder from any register contents, with a reset first, for any input and pauses.

    Args:
        core: the core.
        ports: the description of its ports.
        wanted: one of `PROVED`.
        seconds: time limit.

    Raises:
        InvalidArgumentError: the ports do not permit a proof, see `require_provable`; there is no reset; or an output
            beat has another number of words than an input beat has bytes.
        ToolError: Yosys is missing or failed.
    """
    require_provable(ports)
    if not core.has_reset:
        raise InvalidArgumentError(f"{core.name} has no reset, from which a proof starts: leave out --prove")
    constants = core.constants
    if constants["LANES"] != constants["WORDS"]:
        raise InvalidArgumentError(
            f"{core.name} has {constants['LANES']} bytes and {constants['WORDS']} words per beat, but a proof requires "
            "as many words as bytes: leave out --prove"
        )
    started = time.monotonic()

    def build() -> Any:
        return _ForeignDecoder(constants, ports.replacement)

    harness = Harness(build, wanted, full="keep" not in ports.input)
    text = str(rtlil.convert(harness, name="top", ports=harness.ports, emit_src=False))
    aig = aig_of(core.rtlil(_WRAPPER) + text, free=wanted.any_start)
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
    texts = _texts(aig.values(verdict.frames), constants["LANES"]) if verdict.proved is False else ()
    return ForeignProof(wanted, verdict.proved, verdict.depth, time.monotonic() - started, texts)


def _texts(cycles: list[dict[str, int]], lanes: int) -> tuple[bytes, ...]:
    """The texts of a trace, since its last reset."""
    layout = beat_layout(TABLE_3_7.unit_width, lanes)
    texts: list[bytes] = []
    text = bytearray()
    for cycle in cycles:
        if cycle["see_reset"]:
            texts, text = [], bytearray()
        elif cycle["see_in_valid"] and cycle["see_in_ready"]:
            beat = layout.from_bits(cycle["see_in_payload"])
            text += bytes(beat.symbols[lane] for lane in range(lanes) if beat.keep >> lane & 1)
            if beat.last:
                texts.append(bytes(text))
                text = bytearray()
    return tuple([*texts, bytes(text)] if text else texts)
