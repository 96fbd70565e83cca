# SPDX-License-Identifier: BSD-2-Clause
"""The interface of a core to the rest of the project: that of its circuit, and what else is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from amaranth.hdl import Elaboratable
from amaranth.lib import stream
from amaranth.lib.wiring import Signature

from utf8fpga.hdl.parameters import CoreParameters
from utf8fpga.model import EncodingTable
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.golden import Golden
from utf8fpga.model.render import counted


class Core(Protocol):
    """A core. Code that takes any core uses these attributes only.

    Ports:
        input: stream of `beat_layout`.
        output: stream of `beat_layout`, without null beats. If symbols have the flag `error`, it is 0 in lanes in
            which `keep` is 0.
    """

    parameters: CoreParameters
    signature: Signature
    input: stream.Interface
    output: stream.Interface

    latency: int
    """Upper bound on the cycles from the beat that determines an output symbol to the symbol, while no beat waits.

    Of a core with a `Packer` they count from the beat, or pause, that closes the output beat, if that is later.

    An output beat waits in a cycle in which `output.valid` is asserted and `output.ready` is not. After that, until no
    symbol is in flight, the bound is `drain_cycles`; so it is in as many cycles after a reset.
    """

    stall_cycles: int
    """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits.

    In the first cycle after a reset it is asserted.
    """

    drain_cycles: int
    """Upper bound on the cycles until all determined symbols have been transferred.

    The cycles are those in which no input beat is accepted and no output beat waits.
    """

    lanes: int
    """Symbols per input beat. The output has the same number of lanes or another one, see `lanes_of`."""

    packed: bool
    """Whether the symbols of an output beat are contiguous from lane 0."""

    def elaborate(self, platform: object) -> Elaboratable:
        """The circuit."""


P = TypeVar("P", bound=CoreParameters)


class CoreEntry(Generic[P]):
    """What a core with certain parameters is. Each kind of core has a subclass, see `utf8fpga.hdl.cores`.

    A symbol is one of the golden function, an observed one is what the circuit outputs: `comparable` gives the observed
    symbol that is right for a symbol.

    Attributes:
        input_noun, output_noun: what input and output symbols are called.
        source, target: the encodings whose byte orders the symbols at the input and at the output have; None: they are
            numbers.
        input_table: the form of the input symbols, near whose bounds a long simulation selects them; None: none.
        accepts_gaps: any lanes of an input beat may be empty. Otherwise only the last ones of a packet may.
        product: what it is, in the header of its Verilog.
        tables: the forms that it is generated from.
        notes: further lines of that header.
    """

    product: str
    input_noun = "code unit"
    output_noun = "code unit"
    source: Encoding | None = None
    target: Encoding | None = None
    input_table: EncodingTable | None = None
    accepts_gaps = False
    tables: Sequence[EncodingTable] = ()
    notes: Sequence[str] = ()

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters
        if table := getattr(parameters, "table", None):
            self.input_table, self.tables = table, [table]
            self.product = f"{table.name} {parameters.core}"

    def circuit(self) -> Any:
        """A new circuit. See `build`."""
        raise NotImplementedError

    def golden(self) -> Golden:
        """A new golden function, at the beginning of a packet."""
        raise NotImplementedError

    def comparable(self, symbol: Any) -> Any:
        """The observed symbol for a symbol."""
        return symbol.value

    def observed(self, fields: Mapping[str, int]) -> Any:
        """The observed symbol with these fields; one that is not a structure has the field ``value``.

        Raises:
            InvalidArgumentError: the fields contradict each other, as the message describes.
        """
        return fields["value"]

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """Symbols as the bytes of a file."""
        return bytes(symbol.value for symbol in symbols)

    def growth(self, circuit: Any) -> int:
        """The cycles that an input beat takes on the worst input; 1 if on any input."""
        return int(getattr(circuit, "growth", 1))

    def input_label(self, symbol: int) -> str:
        """An input symbol as text."""
        return f"{symbol:02X}"

    def label(self, symbol: Any) -> str:
        """A symbol as text."""
        return f"{symbol.value:02X}"

    @property
    def title(self) -> str:
        """The title in tables."""
        lanes = [f"{self.parameters.lanes} lanes"] if self.parameters.lanes > 1 else []
        return ", ".join([self.parameters.core, *lanes, *self.parameters.words(without=("lanes",))])

    def description(self) -> list[str]:
        """Lines that describe the core, for the header of its Verilog."""
        rate = counted(self.parameters.lanes, self.input_noun)
        return [f"{self.product}, {rate} per cycle.", *(f"Generated from: {table.source}." for table in self.tables)]
