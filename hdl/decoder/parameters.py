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
from utf8fpga.hdl.decoder.pipeline import BUFFERS, FASTEST, IN_PACKER, PipelineStages, default_pipeline
from utf8fpga.hdl.decoder.serial import PIPELINES, SerialDecoder
from utf8fpga.hdl.payloads import item_layout, slots_layout
from utf8fpga.model import (
    CATALOGUE,
    REPLACEMENT_CHARACTER,
    TABLE_3_7,
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

ARCHITECTURES = ("serial", "parallel")
"""The architectures: a state machine with one code unit per cycle, and a sliding window."""


_TABLES = tuple(name for name, table in CATALOGUE.items() if table.longest > 1)


class Word(NamedTuple):
    """An output symbol of a decoder without the fields `kind` and `length`.

    Attributes:
        code_point: the code point; U+FFFD where ill-formed.
        error: whether the item is ill-formed.
    """

    code_point: int
    error: bool


@dataclass(frozen=True, kw_only=True)
class DecoderParameters(TableParameters):
    """The parameters of a decoder.

    Attributes:
        table: the encoding form.
        lanes: code units per beat, 1 to 256.
        architecture: ``serial``, a state machine with one code unit per cycle, or ``parallel``, a sliding window;
            default: serial for one lane, parallel for more.
        pipeline: register stages, 0 is the smallest; serial 0 to 2, parallel 0 to 6; default: the fewest with which the
            clock network of an ECP5 of speed grade 6 is the limit of plain decoders: 2, but 5 with more than 16 sparse
            or 8 packed lanes, and in parallel decoders with a buffer in registers where there may
            be one in memory.
        packed: the words of an output beat are contiguous from word 0 (default); otherwise they are in order and may
            have gaps between them (sparse). With one lane there is nothing to pack, and the value is False.
        buffer: the buffer behind the window of a parallel decoder, ``registers``, ``memory``, ``slices``, a memory with
            separate control for each slice of lanes, or, if it is packed, ``packer``: none but the memories of the
            packer; default: memory if there are at least as many lanes as the longest sequence has units, slices from
            32 lanes on, and packer in packed decoders of UTF-8 with 4 to 8 and with 16 lanes; None in a serial decoder.
        replacement: the code point of an ill-formed item is U+FFFD; otherwise it is undefined.
        kind: items have the cause of their error.
        length: items have their number of code units.

    Raises:
        InvalidArgumentError: a value is out of its range, or the combination of values is invalid.
        TypeError: `table` is not an `EncodingTable`.

    >>> DecoderParameters(lanes=16, packed=False).arguments()
    ['--lanes', '16', '--sparse']
    >>> DecoderParameters(pipeline=1, replacement=False).name
    'decoder-pipeline-1-no-replacement'
    >>> DecoderParameters(lanes=16).buffer, DecoderParameters(lanes=16, packed=False).buffer
    ('packer', 'memory')
    """

    core: ClassVar[str] = "decoder"

    table: EncodingTable = field(
        default=TABLE_3_7, kw_only=False, metadata={"option": Option("The encoding form.", choices=_TABLES)}
    )
    lanes: int = option(1, "Code units per beat.", range=(1, MAX_LANES))
    architecture: str | None = option(
        None,
        "State machine or sliding window. Default: serial for one lane, parallel for more.",
        choices=ARCHITECTURES,
    )
    pipeline: int | None = option(
        None,
        "Register stages. Serial: 0 (the smallest) to 2; parallel: 0 to 6. Default: the fewest with"
        " which a plain decoder reaches the clock of an ECP5 of speed grade 6: 2, but 5 with more than 16 sparse or 8"
        " packed lanes, and from 4 lanes on with --buffer registers.",
        range=(0, None),
    )
    packed: bool = option(
        True,
        "Output words contiguous from word 0 (default), or in order with gaps, which is smaller and has less latency.",
        flags=("--packed", "--sparse"),
    )
    buffer: str | None = option(
        None,
        "Buffer of parallel decoders. Memory is faster and requires 4 lanes; in slices its control is duplicated, for"
        " many lanes; registers recover from bit flips without a reset; packer is for packed decoders without a buffer"
        " of their own. Default: memory from 4 lanes on, slices from 32 on; packed with 4 to 8 or 16 lanes: packer.",
        choices=(*BUFFERS, IN_PACKER),
    )
    replacement: bool = option(
        True,
        "Leave the data of ill-formed items undefined, which is smaller; default: U+FFFD.",
        flags=("", "--no-replacement"),
    )
    kind: bool = False
    length: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("architecture", self.architecture or ("serial" if self.lanes == 1 else "parallel"))
        self._check_serial() if self.architecture == "serial" else self._check_parallel()

    def _check_serial(self) -> None:
        if self.lanes != 1:
            raise InvalidArgumentError(
                f"a serial decoder accepts one code unit per cycle, not {self.lanes}: use architecture parallel"
            )
        if self.buffer is not None:
            raise InvalidArgumentError(f"a serial decoder has no buffer: leave out buffer {self.buffer}")
        self._set("pipeline", PIPELINES[-1] if self.pipeline is None else self.pipeline)
        if self.pipeline not in PIPELINES:
            raise InvalidArgumentError(f"pipeline {self.pipeline} is not in 0..{PIPELINES[-1]}")
        self._set("packed", False)

    def _check_parallel(self) -> None:
        # The output of one lane is contiguous without a packer.
        self._set("packed", self.packed and self.lanes > 1)
        in_packer = self.buffer == IN_PACKER
        if in_packer and not self.packed:
            raise InvalidArgumentError(f"buffer {self.buffer} is for packed decoders of several lanes: leave it out")
        if in_packer and self.lanes < self.table.longest:
            raise InvalidArgumentError(
                f"buffer {self.buffer} is for {self.table.longest} lanes or more, not {self.lanes}: use registers"
            )
        pipeline = self.pipeline
        if pipeline is None:
            # It lengthens the nets of the control.
            is_slower = self.buffer == "registers" and self.lanes >= self.table.longest
            pipeline = FASTEST if is_slower else default_pipeline(self.lanes, packed=self.packed)
        stages = PipelineStages.of(self.table, self.lanes, pipeline, "memory" if in_packer else self.buffer)
        self._set("pipeline", stages.pipeline)
        if self.packed and self.buffer is None:
            in_packer = stages.buffer == "memory" and stages.fits_packer(self.lanes)
        self._set("buffer", IN_PACKER if in_packer else stages.buffer)

    def build(self) -> Core:
        """The decoder.

        Raises:
            TableError: the architecture does not support the table.
        """
        if self.architecture == "serial":
            return SerialDecoder(self)
        if self.buffer == IN_PACKER:
            return DirectPackedDecoder(self)
        return PackedDecoder(self) if self.packed else ParallelDecoder(self)

    @property
    def item_layout(self) -> data.StructLayout:
        """An item at the output."""
        return item_layout(self.table, kind=self.kind, length=self.length)

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
        assert self.pipeline is not None
        return PipelineStages(self.pipeline, "memory" if self.buffer == IN_PACKER else str(self.buffer))

    output_noun = "code point"

    def golden(self) -> Golden:
        """The golden decoder of this table."""
        return IncrementalDecoder(table=self.table)

    def bulk_golden(self) -> BulkGolden | None:
        """A decoder of arrays, for tables of bytes."""
        from utf8fpga.model.arrays import PacketDecoder

        try:
            return PacketDecoder(self.table, causes=self.kind or self.length, replacement=self.replacement)
        except TableError:
            return None

    def comparable(self, symbol: Item) -> Item | Word:
        """The item if the decoder has the fields `kind` and `length`, otherwise a `Word`."""
        if self.kind and self.length:
            return symbol
        return Word(symbol.code_point, symbol.error is not None)

    def observed(self, fields: Mapping[str, int], previous: Any) -> Item | Word:
        """The item, or the `Word` of a decoder without `kind` or `length`.

        Raises:
            InvalidArgumentError: `error` and `kind` contradict each other, or `kind` is not an `ErrorKind`.
        """
        error = bool(fields["error"])
        code_point = REPLACEMENT_CHARACTER if error and not self.replacement else fields["code_point"]
        if not (self.kind and self.length):
            return Word(code_point, error)
        kind = ErrorKind(fields["kind"]) if fields["kind"] else None
        if error != (kind is not None):
            raise InvalidArgumentError(
                f"the error flag is {fields['error']}, but the kind is Kind.{kind.name if kind else 'NONE'}"
            )
        return Item(previous.offset + previous.length if previous else 0, fields["length"], code_point, kind)

    def observable(self) -> DecoderParameters:
        """With `kind` and `length`."""
        return replace(self, kind=True, length=True)

    def label(self, symbol: Item | Word) -> str:
        """The code point; of an ill-formed item the cause of its error, or ``error`` if the item has no cause."""
        if symbol.error:
            return symbol.error.name.replace("_", " ").lower() if isinstance(symbol.error, ErrorKind) else "error"
        return f"U+{symbol.code_point:04X}"

    def as_bytes(self, symbols: Iterable[Item]) -> bytes:
        """The decoded text in UTF-8, with U+FFFD."""
        return encode([item.code_point for item in symbols])

    @property
    def title(self) -> str:
        """Architecture, lanes and pipeline, and the parameters that differ from their defaults."""
        words = [f"{self.architecture}", counted(self.lanes, "lane"), f"pipeline {self.pipeline}"]
        if self.lanes > 1:
            words.append("packed" if self.packed else "sparse")
        return ", ".join([*words, *self.words(without=("architecture", "lanes", "pipeline", "packed"))])

    @property
    def series(self) -> str:
        """The architecture."""
        return str(self.architecture)

    def description(self) -> list[str]:
        """The table, the architecture and the other parameters."""
        units = counted(self.lanes, "code unit")
        mark = "U+FFFD" if self.replacement else "undefined"
        return [
            f"{self.table.name} decoder, {self.architecture}, {units} per cycle;",
            f"pipeline {self.pipeline}, buffer {self.buffer or 'none'}.",
            f"Words are UTF-32; for an ill-formed item {mark}.",
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
