# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of a decoder: all options with their defaults and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, ParamSpec

from amaranth.lib import data

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.core import Core, Option, TableParameters, option
from utf8fpga.hdl.decoder.direct import DirectPackedDecoder
from utf8fpga.hdl.decoder.packed import PackedDecoder
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.pipeline import PipelineStages, is_fastest, packer_is_buffer
from utf8fpga.hdl.decoder.serial import SerialDecoder
from utf8fpga.hdl.payloads import item_layout, slots_layout
from utf8fpga.model import (
    GENERALISED_UTF_8,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    EncodingTable,
    ErrorKind,
    IncrementalDecoder,
    InvalidArgumentError,
    Item,
    TableError,
    encode,
)
from utf8fpga.model.golden import BulkGolden, Golden
from utf8fpga.model.render import counted

MAX_LANES = 256
"""Upper bound on the number of lanes of a parallel decoder."""

OPTIMIZE = ("area", "speed")
"""What a circuit is optimised for."""


OPTIMIZE_HELP = "The most clock frequency, or the smallest circuit."

_TABLES = tuple(table.name for table in (TABLE_3_7, UTF_16, RFC_2279, GENERALISED_UTF_8))


class Word(NamedTuple):
    """An output symbol of a decoder.

    Attributes:
        code_point: the code point; U+FFFD where ill-formed.
        error: whether the item is ill-formed; of a decoder with `kind` the cause, or None.

    >>> print(Word(0xFFFD, ErrorKind.SURROGATE), Word(0xFFFD, True), Word(0x41, False))
    U+FFFD SURROGATE U+FFFD ERROR U+0041
    """

    code_point: int
    error: ErrorKind | bool | None

    def __str__(self) -> str:
        if not self.error:
            return f"U+{self.code_point:04X}"
        return f"U+{self.code_point:04X} {self.error.name if isinstance(self.error, ErrorKind) else 'ERROR'}"


@dataclass(frozen=True, kw_only=True)
class DecoderParameters(TableParameters):
    """The parameters of a decoder.

    Attributes:
        table: the encoding form.
        lanes: code units per beat, 1 to 256.
        optimize: ``speed``, as many register stages as let the clock network of an ECP5 of speed grade 6 be the limit,
            or ``area``, as few as possible.
        packed: the words of an output beat are contiguous from word 0 (default); otherwise they are in order and may
            have gaps between them (sparse). With one lane there is nothing to pack, and the value is False.
        kind: items have the cause of their error.

    Raises:
        InvalidArgumentError: a value is out of its range, or the combination of values is invalid.
        TypeError: `table` is not an `EncodingTable`.

    >>> DecoderParameters(lanes=16, packed=False).arguments()
    ['--lanes', '16', '--sparse']
    >>> DecoderParameters(optimize="area").name
    'decoder-area'
    """

    core: ClassVar[str] = "decoder"

    table: EncodingTable = field(
        default=TABLE_3_7, kw_only=False, metadata={"option": Option("The encoding form.", choices=_TABLES)}
    )
    lanes: int = option(1, "Code units per beat.", range=(1, MAX_LANES))
    optimize: str = option("speed", OPTIMIZE_HELP, choices=OPTIMIZE)
    packed: bool = option(
        True,
        "Output words contiguous from word 0 (default), or in order with gaps, which is smaller and has less latency.",
        flags=("--packed", "--sparse"),
    )
    kind: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        # The output of one lane is contiguous without a packer.
        self._set("packed", self.packed and self.lanes > 1)

    def build(self) -> Core:
        """The decoder.

        Raises:
            TableError: the architecture does not support the table.
        """
        if self.lanes == 1:
            return SerialDecoder(self)
        if not self.packed:
            return ParallelDecoder(self, self.stages)
        return DirectPackedDecoder(self) if packer_is_buffer(self.table, self.lanes) else PackedDecoder(self)

    @property
    def item_layout(self) -> data.StructLayout:
        """An item at the output."""
        return item_layout(self.table, kind=self.kind)

    @property
    def slots_layout(self) -> data.StructLayout:
        """A beat of items inside a parallel decoder."""
        return slots_layout(self.item_layout, self.lanes)

    @property
    def ports(self) -> dict[str, Any]:
        """The streams of the decoder."""
        return stage_ports(self.table.unit_width, self.item_layout, self.lanes)

    @property
    def stages(self) -> PipelineStages:
        """The register stages of a parallel decoder."""
        is_wide = is_fastest(self.lanes, packed=self.packed)
        return PipelineStages.of(
            self.table, self.lanes, "fastest" if is_wide and self.optimize == "speed" else self.optimize
        )

    output_noun = "code point"

    def golden(self) -> Golden:
        """The golden decoder of this table."""
        return IncrementalDecoder(table=self.table)

    def bulk_golden(self) -> BulkGolden | None:
        """A decoder of many packets at once, for tables of bytes."""
        from utf8fpga.model.packets import PacketDecoder

        try:
            return PacketDecoder(self.table, causes=self.kind)
        except TableError:
            return None

    def comparable(self, symbol: Item) -> Word:
        """The item without its place in the text, and without `kind` without the cause of its error."""
        return Word(symbol.code_point, symbol.error if self.kind else symbol.error is not None)

    def observed(self, fields: Mapping[str, int]) -> Word:
        """The word.

        Raises:
            InvalidArgumentError: `error` and `kind` contradict each other, or `kind` is not an `ErrorKind`.
        """
        error = bool(fields["error"])
        code_point = fields["code_point"]
        if not self.kind:
            return Word(code_point, error)
        kind = ErrorKind(fields["kind"]) if fields["kind"] else None
        if error != (kind is not None):
            raise InvalidArgumentError(
                f"the error flag is {fields['error']}, but the kind is Kind.{kind.name if kind else 'NONE'}"
            )
        return Word(code_point, kind)

    def observable(self) -> DecoderParameters:
        """With `kind`."""
        return replace(self, kind=True)

    def label(self, symbol: Word) -> str:
        """The code point; of an ill-formed item the cause of its error, or ``error`` without `kind`."""
        if symbol.error:
            return symbol.error.name.replace("_", " ").lower() if isinstance(symbol.error, ErrorKind) else "error"
        return f"U+{symbol.code_point:04X}"

    def as_bytes(self, symbols: Iterable[Item]) -> bytes:
        """The decoded text in UTF-8, with U+FFFD."""
        return encode([item.code_point for item in symbols])

    @property
    def title(self) -> str:
        """The series and the lanes, and the parameters that differ from their defaults."""
        words = [self.series, counted(self.lanes, "lane")]
        if self.lanes > 1:
            words.append("packed" if self.packed else "sparse")
        return ", ".join([*words, *self.words(without=("lanes", "packed"))])

    @property
    def series(self) -> str:
        """``serial``, a state machine with one code unit per cycle, or ``parallel``, a sliding window."""
        return "serial" if self.lanes == 1 else "parallel"

    def description(self) -> list[str]:
        """The table, the series and the other parameters."""
        units = counted(self.lanes, "code unit")
        return [
            f"{self.table.name} decoder, {self.series}, {units} per cycle;",
            f"optimised for {self.optimize}.",
            "Words are UTF-32; for an ill-formed item U+FFFD.",
            f"Generated from: {self.table.source}.",
        ]

    def notes(self) -> list[str]:
        """The latency of open sequences."""
        return ["An item whose sequence may continue in the next beat is determined by the next beat."]


_Arguments = ParamSpec("_Arguments")


def _with_arguments_of(
    _kind: Callable[_Arguments, object],
) -> Callable[[Callable[..., Core]], Callable[_Arguments, Core]]:
    """Gives a function the types of a class's arguments, for type checkers and editors."""
    return lambda function: function


@_with_arguments_of(DecoderParameters)
def decoder_core(table: EncodingTable = TABLE_3_7, **parameters: Any) -> Core:
    """The decoder for a table and the other fields of `DecoderParameters`.

    Raises:
        InvalidArgumentError: a value is out of its range, or the combination of values is invalid.
        TableError: the architecture does not support the table.

    >>> [type(decoder_core(lanes=lanes)).__name__ for lanes in (1, 2, 8)]
    ['SerialDecoder', 'PackedDecoder', 'DirectPackedDecoder']
    """
    return DecoderParameters(table=table, **parameters).build()
