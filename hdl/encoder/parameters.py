# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of an encoder, and what it has in common with a transcoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from utf8fpga.hdl.core import CoreParameters, option
from utf8fpga.hdl.encoder.encoder import Encoder
from utf8fpga.hdl.encoder.logic import WORD_BITS
from utf8fpga.hdl.payloads import OutputUnit
from utf8fpga.model import UTF_32, InvalidArgumentError, spell
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
        packed: the units of an output beat are contiguous from lane 0 (default), or in order with gaps (sparse).
        narrow: an output beat has as many lanes as an input beat, and the input waits while more units than these are
            made of it; otherwise there are lanes for all units that a beat may become.
    """

    to: str = option("utf-8", "The encoding of the output.", choices=GATE_ENCODINGS)
    packed: bool = option(
        True,
        "Units of an output beat contiguous from lane 0 (default), or in order with gaps, which is smaller and has"
        " less latency.",
        flags=("--packed", "--sparse"),
    )
    narrow: bool = option(
        False,
        "As many units per output beat as input symbols: the input waits where the text grows. Default: room for"
        " all units that an input beat may become; a transcoder with one lane is always narrow.",
        flags=("--narrow", "--wide"),
    )

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
        """The output units of an input symbol, at most, if an output beat has room for one each."""
        return int(circuit.slots) if self.narrow else 1

    def _check_narrow(self, lanes: int) -> None:
        if lanes > 1 and self.narrow and not self.packed:
            raise InvalidArgumentError("narrow output beats are packed: leave out --sparse, or use --wide")

    def comparable(self, symbol: CodeUnit) -> OutputUnit:
        """The unit without the number of input symbols."""
        return OutputUnit(symbol.value, symbol.error)

    def observed(self, fields: Mapping[str, int], previous: Any) -> OutputUnit:
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
        packed: see `UnitParameters`; with one lane True.
        items: words are the items of a decoder, with the flag `error` in ``s_axis_tuser``.

    Raises:
        InvalidArgumentError: a value is out of its range, or the combination of values is invalid.

    >>> EncoderParameters(to="utf-16-le", lanes=4).name
    'encoder-utf-16-le-4'
    """

    core: ClassVar[str] = "encoder"
    input_noun: ClassVar[str] = "word"

    lanes: int = option(1, "Words per beat.", range=(1, MAX_ENCODER_LANES))
    items: bool = option(
        False,
        "Words are the items of a decoder, whose error flags are passed on. Default: UTF-32.",
        flags=("--items", ""),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_narrow(self.lanes)
        self._set("packed", self.packed or self.lanes == 1)

    def build(self) -> Encoder:
        """The circuit."""
        return Encoder(self)

    def golden(self) -> GoldenEncoder:
        """The golden encoder."""
        return GoldenEncoder(self.target, flag=WORD_BITS if self.items else None)

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
