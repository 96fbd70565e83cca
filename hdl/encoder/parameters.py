# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of an encoder, and what it has in common with a transcoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from utf8fpga.hdl.core import CoreParameters, option
from utf8fpga.hdl.encoder.encoder import Encoder
from utf8fpga.hdl.payloads import OutputUnit
from utf8fpga.model import UTF_32, spell
from utf8fpga.model.encoder import CodeUnit, GoldenEncoder
from utf8fpga.model.encodings import Encoding, encoding_named
from utf8fpga.model.render import counted

MAX_ENCODER_LANES = 64
"""Upper bound on the words per beat of an encoder."""


GATE_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
"""The names of the encodings that encoders and transcoders have."""


@dataclass(frozen=True, kw_only=True)
class UnitParameters(CoreParameters):
    """The parameters of a core whose output symbols are code units.

    Attributes:
        to: the name of the encoding of the output, one of `GATE_ENCODINGS`.
    """

    to: str = option("utf-8", "The encoding of the output.", choices=GATE_ENCODINGS)
    output_noun = "code unit"

    @property
    def target(self) -> Encoding:
        """The encoding of the output."""
        return encoding_named(self.to)

    @property
    def encodings(self) -> tuple[Encoding | None, Encoding]:
        """That of the output."""
        return None, self.target

    def growth(self, circuit: Any) -> int:
        """The output units of an input symbol, at most, with one lane, where an output beat has room for one."""
        return int(circuit.slots) if circuit.lanes == 1 else 1

    def comparable(self, symbol: CodeUnit) -> OutputUnit:
        """The unit without the number of input symbols."""
        return OutputUnit(symbol.value, symbol.error)

    def observed(self, fields: Mapping[str, int]) -> OutputUnit:
        """The unit, with its bytes in the order of a number."""
        return OutputUnit(self.target.swapped(fields["unit"]), bool(fields["error"]))

    def as_bytes(self, symbols: Iterable[CodeUnit]) -> bytes:
        """The text in the encoding of the output."""
        return self.target.to_bytes(symbol.value for symbol in symbols)

    def label(self, symbol: OutputUnit) -> str:
        """The unit in hexadecimal."""
        return spell([symbol.value], self.target.table.unit_width)


@dataclass(frozen=True, kw_only=True)
class EncoderParameters(UnitParameters):
    """The parameters of an encoder.

    Attributes:
        to: the name of the encoding of the output, one of `GATE_ENCODINGS`.
        lanes: words per beat, 1 to 64.

    Raises:
        InvalidArgumentError: a value is out of its range.

    >>> EncoderParameters(to="utf-16-le", lanes=4).name
    'encoder-utf-16-le-4'
    """

    core: ClassVar[str] = "encoder"
    input_noun: ClassVar[str] = "word"

    lanes: int = option(1, "Words per beat.", range=(1, MAX_ENCODER_LANES))

    def build(self) -> Encoder:
        """The circuit."""
        return Encoder(self)

    def golden(self) -> GoldenEncoder:
        """The golden encoder."""
        return GoldenEncoder(self.target)

    input_table = UTF_32

    @property
    def series(self) -> str:
        """The core and the encoding."""
        return f"encoder to {self.to}"

    def description(self) -> list[str]:
        """The encoding and the sizes."""
        words = counted(self.lanes, "word")
        return [f"{self.target.table.name} encoder, {words} per cycle.", f"Generated from: {self.target.table.source}."]

    def notes(self) -> list[str]:
        """What becomes of words that are no code points."""
        return ["A word that is no code point of the form is encoded as U+FFFD."]
