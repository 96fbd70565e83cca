# SPDX-License-Identifier: BSD-2-Clause
"""What each core is: for its parameters the circuit, the golden function, and the texts for users."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from amaranth.lib import data

from utf8fpga.hdl.core import Core, CoreEntry, P
from utf8fpga.hdl.decoder.parallel import PackedDecoder, ParallelDecoder
from utf8fpga.hdl.decoder.serial import SERIAL
from utf8fpga.hdl.encoder.encoder import Encoder
from utf8fpga.hdl.encoder.serial import SerialEncoder
from utf8fpga.hdl.parameters import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.hdl.payloads import Kind, OutputUnit, Word
from utf8fpga.hdl.remover import Remover
from utf8fpga.hdl.sanitizer import Sanitizer
from utf8fpga.hdl.transcoder.transcoder import SerialTranscoder, Transcoder
from utf8fpga.hdl.validator.tap import TappedStream
from utf8fpga.model import TABLE_3_7, UTF_32, Decoder, EncodingTable, ErrorKind, ValidatorReport, encode, spell
from utf8fpga.model.encoder import GoldenEncoder, GoldenTranscoder
from utf8fpga.model.encodings import Encoding, encoding_named
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.golden import Golden
from utf8fpga.model.remover import GoldenRemover
from utf8fpga.model.render import counted
from utf8fpga.model.sanitizer import QUESTION_MARK, GoldenSanitizer
from utf8fpga.model.validator import COUNTER_WIDTH, GoldenValidator

OutputSymbol: TypeAlias = Word | OutputUnit | ValidatorReport | int
"""An output symbol in a simulation: of a decoder, an encoder, transcoder or sanitizer, a validator, a remover."""


class DecoderEntry(CoreEntry[DecoderParameters]):
    """The decoders."""

    output_noun = "code point"
    notes = (
        "Words are UTF-32; for an ill-formed item U+FFFD.",
        "An item whose sequence may continue in the next beat is determined by the next beat.",
    )

    def __init__(self, parameters: DecoderParameters) -> None:
        super().__init__(parameters)
        self.family = "serial" if parameters.lanes == 1 else "parallel"
        self.product += f", {self.family}"

    def circuit(self) -> Any:
        given = self.parameters
        if given.lanes == 1:
            return SERIAL[given.optimize](given.table, kind=given.kind)
        decoder = PackedDecoder if given.packed else ParallelDecoder
        return decoder(given.table, given.lanes, given.optimize, given.kind)

    def golden(self) -> Golden:
        return Decoder(self.parameters.table)

    def comparable(self, symbol: Any) -> Word:
        return Word(symbol.code_point, symbol.error if self.parameters.kind else symbol.error is not None)

    def observed(self, fields: Mapping[str, int]) -> Word:
        code_point, error = fields["code_point"], fields["error"]
        if not self.parameters.kind:
            return Word(code_point, bool(error))
        kind = fields["kind"]
        if bool(error) != bool(kind):
            raise InvalidArgumentError(f"the error flag is {error}, but the kind is {Kind(kind)}")
        return Word(code_point, ErrorKind(kind) if kind else None)

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        return encode([symbol.code_point for symbol in symbols])

    def label(self, symbol: Any) -> str:
        return symbol.error.name.replace("_", " ").lower() if symbol.error else f"U+{symbol.code_point:04X}"

    @property
    def title(self) -> str:
        given = self.parameters
        order = [] if given.lanes == 1 else ["packed" if given.packed else "sparse"]
        return ", ".join([self.family, counted(given.lanes, "lane"), *order, *given.words(without=("lanes", "packed"))])


class UnitEntry(CoreEntry[P]):
    """The cores whose output symbols are code units, those of `target`, with a flag."""

    target: Encoding

    def comparable(self, symbol: Any) -> OutputUnit:
        return OutputUnit(symbol.value, symbol.error)

    def observed(self, fields: Mapping[str, int]) -> OutputUnit:
        return OutputUnit(self.target.swapped(fields["unit"]), bool(fields["error"]))

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        return self.target.to_bytes(symbol.value for symbol in symbols)

    def label(self, symbol: Any) -> str:
        return spell([symbol.value], self.target.table.unit_width)


class EncoderEntry(UnitEntry[EncoderParameters]):
    """The encoders."""

    input_noun = "word"
    input_table = UTF_32
    notes = ("A word that is no code point of the form is encoded as U+FFFD.",)

    def __init__(self, parameters: EncoderParameters) -> None:
        super().__init__(parameters)
        self.target = encoding_named(parameters.to)
        self.tables = [self.target.table]
        self.product = f"{self.target.table.name} encoder"

    def circuit(self) -> Any:
        lanes = self.parameters.lanes
        return SerialEncoder(self.target) if lanes == 1 else Encoder(self.target, lanes)

    def golden(self) -> Golden:
        return GoldenEncoder(self.target)


class TranscoderEntry(UnitEntry[TranscoderParameters]):
    """The transcoders."""

    source: Encoding
    notes = ("There is one U+FFFD for each maximal subpart of an ill-formed subsequence (D93b).",)

    def __init__(self, parameters: TranscoderParameters) -> None:
        super().__init__(parameters)
        self.source, self.target = encoding_named(parameters.from_), encoding_named(parameters.to)
        self.tables = list(dict.fromkeys([self.source.table, self.target.table]))
        self.input_table = None if self.source.is_swapped else self.source.table
        self.product = f"{self.source.table.name} to {self.target.table.name} transcoder"

    def circuit(self) -> Any:
        given = self.parameters
        if given.lanes == 1:
            return SerialTranscoder(self.source, self.target, given.optimize)
        return Transcoder(self.source, self.target, given.lanes, given.optimize)

    def golden(self) -> Golden:
        return GoldenTranscoder(self.source, self.target)

    def input_label(self, symbol: int) -> str:
        return spell([self.source.swapped(symbol)], self.source.table.unit_width)


class SanitizerEntry(UnitEntry[SanitizerParameters]):
    """The sanitizers."""

    def __init__(self, parameters: SanitizerParameters) -> None:
        super().__init__(parameters)
        self.target = Encoding(parameters.table.name, parameters.table)
        self._replacement = QUESTION_MARK if parameters.replace_with == "question-mark" else None
        becomes = "becomes ? (U+003F) and" if self._replacement else "remains as it is, and"
        self.notes = [
            "Each unit keeps its place in the packet.",
            f"Each unit of an ill-formed subsequence {becomes} has an error flag; all others are unchanged.",
        ]

    def circuit(self) -> Any:
        return Sanitizer(self.parameters.table, self.parameters.lanes, self.parameters.optimize, self._replacement)

    def golden(self) -> Golden:
        return GoldenSanitizer(self.parameters.table, self._replacement)


class ValidatorEntry(CoreEntry[ValidatorParameters]):
    """The validators."""

    output_noun = "report"
    notes = (f"Numbers have {COUNTER_WIDTH} bits and saturate.",)

    def __init__(self, parameters: ValidatorParameters) -> None:
        super().__init__(parameters)
        self.product += ", a tap beside a stream"

    def circuit(self) -> Any:
        return TappedStream(self.parameters.table, self.parameters.lanes, self.parameters.optimize)

    def golden(self) -> Golden:
        return GoldenValidator(self.parameters.table)

    def observed(self, fields: Mapping[str, int]) -> ValidatorReport:
        well_formed, kind = bool(fields["well_formed"]), fields["kind"]
        offset = None if well_formed and not fields["offset"] else fields["offset"]
        counts = fields["errors"], fields["units"], fields["code_points"]
        return ValidatorReport(well_formed, offset, ErrorKind(kind) if kind else None, *counts)

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        return b"".join(json.dumps(symbol.value.as_dict()).encode() + b"\n" for symbol in symbols)

    def label(self, symbol: Any) -> str:
        report = symbol.value
        return f"{report.error.name} at {report.offset}".replace("_", " ").lower() if report.error else "well-formed"


class RemoverEntry(CoreEntry[RemoverParameters]):
    """The null-word removers."""

    product = "Null-word remover"
    input_noun = output_noun = "symbol"
    accepts_gaps = True
    notes = (
        "A beat is output when it is full or its packet ends.",
        "A packet without a symbol, or whose last one filled a beat before s_axis_tlast, ends with an empty beat.",
    )

    def circuit(self) -> Any:
        width, user = self.parameters.width, self.parameters.user
        return Remover(data.StructLayout({"data": width, "user": user}) if user else width, self.parameters.lanes)

    def golden(self) -> Golden:
        return GoldenRemover()

    def observed(self, fields: Mapping[str, int]) -> int:
        return fields["data"] | fields["user"] << self.parameters.width if self.parameters.user else fields["value"]

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        size = -(-(self.parameters.width + self.parameters.user) // 8)
        return b"".join(symbol.value.to_bytes(size, "little") for symbol in symbols)


ENTRIES: dict[type[CoreParameters], type[CoreEntry[Any]]] = {
    DecoderParameters: DecoderEntry,
    EncoderParameters: EncoderEntry,
    TranscoderParameters: TranscoderEntry,
    SanitizerParameters: SanitizerEntry,
    ValidatorParameters: ValidatorEntry,
    RemoverParameters: RemoverEntry,
}
"""Each kind of core; the first is the default of the commands."""

CORES: dict[str, type[CoreParameters]] = {kind.core: kind for kind in ENTRIES}
"""The class of the parameters of each kind of core, by name."""


def entry_of(parameters: CoreParameters) -> CoreEntry[Any]:
    """What the core with these parameters is.

    Raises:
        InvalidArgumentError: they are no parameters of a core.
    """
    if type(parameters) not in ENTRIES:
        kinds = ", ".join(f"{kind.__name__}()" for kind in ENTRIES)
        raise InvalidArgumentError(f"the parameters {parameters!r} are those of no core: pass one of {kinds}")
    return ENTRIES[type(parameters)](parameters)


def build(parameters: CoreParameters) -> Core:
    """A new circuit of a core, an Amaranth component with the attribute `parameters`.

    Raises:
        TableError: the circuit does not support the table.

    >>> build(DecoderParameters(lanes=4)).parameters.name
    'decoder-4'
    """
    circuit: Core = entry_of(parameters).circuit()
    circuit.parameters = parameters
    return circuit


def decoder_core(table: EncodingTable = TABLE_3_7, **parameters: Any) -> Core:
    """The decoder for a table and the other fields of `DecoderParameters`.

    Raises:
        InvalidArgumentError: a value is out of its range.
        TableError: the circuit does not support the table.

    >>> [type(decoder_core(lanes=lanes)).__name__ for lanes in (1, 2, 8)]
    ['SerialSpeedDecoder', 'PackedDecoder', 'PackedDecoder']
    """
    return build(DecoderParameters(table=table, **parameters))


def command_words(parameters: CoreParameters) -> list[str]:
    """The words of a command line that select a core: its name, unless it is the default, and its options."""
    is_default = type(parameters) is next(iter(ENTRIES))
    return [*([] if is_default else [parameters.core]), *parameters.arguments()]
