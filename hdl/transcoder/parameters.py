# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of a transcoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from utf8fpga.hdl.core import option
from utf8fpga.hdl.decoder.parameters import MAX_LANES, OPTIMIZE, OPTIMIZE_HELP, DecoderParameters
from utf8fpga.hdl.encoder.parameters import GATE_ENCODINGS, UnitParameters
from utf8fpga.hdl.transcoder.transcoder import Transcoder
from utf8fpga.model.encoder import GoldenTranscoder
from utf8fpga.model.encodings import Encoding, encoding_named
from utf8fpga.model.render import counted
from utf8fpga.model.table import EncodingTable, spell


@dataclass(frozen=True, kw_only=True)
class TranscoderParameters(UnitParameters):
    """The parameters of a transcoder.

    Attributes:
        from_: the name of the encoding of the input, one of `GATE_ENCODINGS`.
        to: the name of the encoding of the output, one of `GATE_ENCODINGS`. If it is the same one, ill-formed text
            becomes well-formed text, and well-formed text remains as it is.
        lanes: input units per beat, 1 to 256.
        optimize: of the decoder, see `DecoderParameters`. With one lane and ``speed`` the encoder has register
            stages, too.

    Raises:
        InvalidArgumentError: a value is out of its range, or the combination of values is invalid.

    >>> TranscoderParameters(to="utf-16-le", lanes=4).name
    'transcoder-utf-16-le-4'
    >>> TranscoderParameters(from_="utf-16-le").name
    'transcoder-from-utf-16-le'
    >>> TranscoderParameters(to="utf-8", lanes=4).arguments()
    ['--lanes', '4']
    """

    core: ClassVar[str] = "transcoder"
    input_noun: ClassVar[str] = "code unit"

    from_: str = option("utf-8", "The encoding of the input.", choices=GATE_ENCODINGS, named=True)
    lanes: int = option(1, "Code units per beat.", range=(1, MAX_LANES))
    optimize: str = option("speed", OPTIMIZE_HELP, choices=OPTIMIZE)

    def __post_init__(self) -> None:
        super().__post_init__()

    def build(self) -> Transcoder:
        """The circuit."""
        return Transcoder(self)

    @property
    def decoder(self) -> DecoderParameters:
        """The parameters of the decoder."""
        return DecoderParameters(
            table=self.given.table,
            lanes=self.lanes,
            packed=False,
            optimize=self.optimize,
        )

    @property
    def given(self) -> Encoding:
        """The encoding of the input."""
        return encoding_named(self.from_)

    @property
    def encodings(self) -> tuple[Encoding, Encoding]:
        """Those of the input and of the output."""
        return self.given, self.target

    def golden(self) -> GoldenTranscoder:
        """The golden transcoder."""
        return GoldenTranscoder(self.given, self.target)

    @property
    def input_table(self) -> EncodingTable | None:
        """The form of the input, if a number of a beat is a code unit."""
        return None if self.given.is_swapped else self.given.table

    def input_label(self, symbol: int) -> str:
        """The unit in hexadecimal."""
        return spell([self.given.swapped(symbol)], self.given.table.unit_width)

    @property
    def series(self) -> str:
        """The encodings."""
        return f"{self.from_} to {self.to}"

    def description(self) -> list[str]:
        """The encodings and the sizes."""
        units = counted(self.lanes, "code unit")
        return [
            f"{self.given.table.name} to {self.target.table.name} transcoder, {units} per cycle.",
            f"Generated from: {self.given.table.source};",
            f"and: {self.target.table.source}.",
        ]

    def notes(self) -> list[str]:
        """What becomes of ill-formed text."""
        return ["There is one U+FFFD for each maximal subpart of an ill-formed subsequence (D93b)."]
