# SPDX-License-Identifier: BSD-2-Clause
"""The null-word remover: a stream with gaps becomes one without."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from amaranth.hdl import Module, ShapeLike, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import beat_layout, is_effective, stage_ports
from utf8fpga.hdl.core import CoreParameters, option
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.model.remover import GoldenRemover
from utf8fpga.model.render import counted

MAX_REMOVER_LANES = 64
"""Upper bound on the lanes of a remover."""

MAX_BITS = 64
"""Upper bound on the bits of the data of a symbol, and on those of its ``tuser``."""


@dataclass(frozen=True, kw_only=True)
class RemoverParameters(CoreParameters):
    """The parameters of a null-word remover.

    Attributes:
        lanes: symbols per beat, 1 to 64; default: 4.
        width: bits of the data of a symbol, 1 to 64; default: 8.
        user: bits of ``tuser`` for each symbol, 0 to 64; default: 0, no ``tuser``.

    Raises:
        InvalidArgumentError: a value is out of its range.

    >>> RemoverParameters(lanes=8, width=16).arguments()
    ['--lanes', '8', '--width', '16']
    >>> RemoverParameters(user=1).name
    'remover-4-user-1'
    """

    core: ClassVar[str] = "remover"
    input_noun: ClassVar[str] = "symbol"

    lanes: int = option(4, "Symbols per beat. Default: 4.", range=(1, MAX_REMOVER_LANES))
    width: int = option(8, "Bits of the data of a symbol. Default: 8.", range=(1, MAX_BITS), metavar="BITS")
    user: int = option(
        0,
        "Bits of tuser for each symbol. Default: 0, no tuser.",
        range=(0, MAX_BITS),
        metavar="BITS",
    )

    def build(self) -> Remover:
        """The circuit."""
        return Remover(self)

    def golden(self) -> GoldenRemover:
        """The symbols as they are."""
        return GoldenRemover()

    def words(self, without: Collection[str] = ()) -> list[str]:
        """As for other cores, but always with the number of lanes: ``remover-4``."""
        lanes = [] if "lanes" in without else [f"{self.lanes}"]
        return [*lanes, *super().words({*without, "lanes"})]

    @property
    def symbol(self) -> ShapeLike:
        """The shape of a symbol: a number, or with `user` a structure of `data` and `user`."""
        return data.StructLayout({"data": self.width, "user": self.user}) if self.user else self.width

    @property
    def accepts_gaps(self) -> bool:
        """True with several lanes."""
        return self.lanes > 1

    def observed(self, fields: Mapping[str, int]) -> int:
        """The symbol as one number, with `user` in the upper bits."""
        return fields["data"] | fields["user"] << self.width if self.user else fields["value"]

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """The symbols, each in as many bytes as it needs, the low bits first."""
        size = -(-(self.width + self.user) // 8)
        return b"".join(symbol.value.to_bytes(size, "little") for symbol in symbols)

    @property
    def series(self) -> str:
        """The core and the bits of a symbol."""
        return f"remover, {self.width + self.user} bits"

    def description(self) -> list[str]:
        """What becomes of symbols, and the sizes."""
        lanes = counted(self.lanes, "symbol")
        user = f" and {self.user} of tuser" if self.user else ""
        return [f"Null-word remover, {lanes} per cycle, each with {self.width} bits of data{user}."]

    def notes(self) -> list[str]:
        """When an output beat is closed."""
        if self.lanes == 1:
            return ["A packet may end with a beat without a symbol, as at the input."]
        return [
            "A beat is output when it is full or its packet ends.",
            "A packet without a symbol is one beat without a symbol. So is the end of a packet if its last symbol had",
            "filled a beat before s_axis_tlast.",
        ]


class Remover(wiring.Component):
    """Beats with any `keep` in, packed beats out: the same symbols of each packet in the same order.

    All output beats but the last one of a packet are full: symbols wait until their beat is full or
    the packet ends. Null beats, with neither a symbol nor `last`, have no effect. A packet without a symbol is one beat
    with `last` and no symbol; the end of a packet is such a beat, too, if the beat before it was full before `last`
    arrived.

    Throughput: a beat per cycle.

    Latency: a symbol is at the output at most `latency` cycles after the beat that closes its output
    beat, while no beat waits.

    Structure: a `Packer`; with one lane, where a beat with a symbol is full, a `RegisterBuffer` that null beats do not
    enter. There is no combinational path through it.

    Args:
        parameters: the parameters that it is built from.

    Attributes:
        accepts_gaps: an input beat may have gaps.
        closer: the component that closes gaps.

    Ports:
        input: stream of `beat_layout`, with any `keep`.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    packed = True

    def __init__(self, parameters: RemoverParameters) -> None:
        self.parameters, symbol = parameters, parameters.symbol
        self.lanes = lanes = parameters.lanes
        super().__init__(stage_ports(symbol, symbol, lanes))
        # A packer moves structures.
        moved = symbol if isinstance(symbol, data.StructLayout) else data.StructLayout({"value": symbol})
        self.closer: Packer | RegisterBuffer = (
            Packer(moved, lanes, flushes=False) if lanes > 1 else RegisterBuffer(beat_layout(symbol, 1), 1)
        )
        self.accepts_gaps = lanes > 1
        self.latency, self.reset_cycles = self.closer.latency, self.closer.reset_cycles
        self.stall_cycles = max(self.closer.stall_cycles, self.reset_cycles)
        # Not tight: the beats that are held are transferred while later ones pass through.
        self.drain_cycles = self.closer.capacity + self.latency

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.closer = closer = self.closer
        source, output = self.input, self.output
        if isinstance(closer, RegisterBuffer):
            m.d.comb += [
                closer.entry.eq(source.payload),
                closer.entry_valid.eq(is_effective(source) & closer.run),
                source.ready.eq(closer.run),
            ]
        else:
            m.d.comb += [
                Value.cast(closer.sparse.payload).eq(Value.cast(source.payload)),
                closer.sparse.valid.eq(source.valid),
                source.ready.eq(closer.sparse.ready),
            ]
        m.d.comb += [
            Value.cast(output.payload).eq(Value.cast(closer.output.payload)),
            output.valid.eq(closer.output.valid),
            closer.output.ready.eq(output.ready),
        ]
        return m
