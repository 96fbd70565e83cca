# SPDX-License-Identifier: BSD-2-Clause
"""Golden functions of cores: packets of symbols in, packets of symbols out."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from utf8fpga.model.decoder import Decoder, Item
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.practices import IncrementalDecoder
from utf8fpga.model.table import Composition

__all__ = [
    "BulkGolden",
    "BulkSymbols",
    "FiniteGolden",
    "Golden",
    "GoldenComposedDecoder",
    "GoldenDecoder",
    "Symbol",
]


class Symbol(NamedTuple):
    """A symbol of an output packet.

    Attributes:
        length: the number of input symbols that it stands for, those since the output symbol before it.
        value: the symbol as an integer.
    """

    length: int
    value: int


class Golden(Protocol):
    """A golden function that is given its packets in parts."""

    def process(self, symbols: Iterable[int], final: bool = False) -> Sequence[Any]:
        """The output symbols that the next input symbols determine.

        Args:
            symbols: the next symbols of the packet.
            final: the packet ends after them; the next call begins another packet.

        Returns:
            Objects with the attribute `length` of `Symbol`, such as `Symbol` and `Item`.
        """


@runtime_checkable
class FiniteGolden(Golden, Protocol):
    """A golden function with so few states that they can be enumerated, which lets proofs compare a core with it."""

    def getstate(self) -> Hashable:
        """What the outputs for all further symbols depend on; equal states have equal further outputs."""

    def setstate(self, state: Any) -> None:
        """Continue from a state that `getstate` returned."""


class BulkSymbols(NamedTuple):
    """Output symbols of many packets, as NumPy arrays.

    Attributes:
        columns: by name of a field of an output symbol its values.
        undefined: by name of a field that may be undefined, whether it is, as an array of bool.
        ends: for each packet that ended, the number of symbols before its end, counted in these columns.
        pending: the number of input symbols, the last ones, whose output symbols are left to the next call.
    """

    columns: Mapping[str, Any]
    undefined: Mapping[str, Any]
    ends: Any
    pending: int


class BulkGolden(Protocol):
    """A fast golden function, for many packets at once.

    It begins each call as at the beginning of a packet, with the `pending` symbols of the call before.
    """

    def process(self, symbols: bytes, ends: Sequence[int]) -> BulkSymbols:
        """The output symbols of the next input symbols, and of the pending ones before them.

        Args:
            symbols: the next input symbols.
            ends: for each packet that ends here, the number of these symbols before its end, ascending.
        """


class GoldenDecoder:
    """The golden function of a decoder: code units in, items out.

    Args:
        decoder: the decoder of the model; it must be at the beginning of a text.

    >>> GoldenDecoder(IncrementalDecoder()).process(b"A", final=True)
    [Item(offset=0, length=1, code_point=65, error=None)]
    """

    def __init__(self, decoder: IncrementalDecoder) -> None:
        self._decoder = decoder

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Item]:
        """See `Golden.process`."""
        return self._decoder.decode(symbols, final)


class GoldenComposedDecoder:
    """The golden function of the decoder of a composition such as CESU-8: code units in, items out.

    The items are those of `decode`, for a text in parts.

    Args:
        composition: the form.

    >>> from utf8fpga.model.forms import CESU_8
    >>> [str(item) for item in GoldenComposedDecoder(CESU_8).process(bytes.fromhex("EDA0BD EDB880 41"))]
    ['0+6 U+1F600', '6+1 U+0041']
    """

    def __init__(self, composition: Composition) -> None:
        self._pieces, self._units = Decoder(composition.unit_table), Decoder(composition.form)
        self._held: deque[Item] = deque()
        """The items of the unit table whose code units are not in an item of the form yet."""

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Item]:
        """See `Golden.process`."""
        found: list[Item] = []
        for piece in self._pieces.decode(symbols, final):
            if piece.error is None:
                self._held.append(piece)
                found += self._composed(self._units.decode([piece.code_point]))
            else:
                # It breaks a sequence of code units, which the text does not end.
                broken = self._composed(self._units.decode([], final=True))
                found += [*(item._replace(error=ErrorKind.TRUNCATED) for item in broken), piece]
        return [*found, *self._composed(self._units.decode([], final=True))] if final else found

    def _composed(self, items: Iterable[Item]) -> list[Item]:
        """The items of the form with their places in the text."""
        found = []
        for item in items:
            parts = [self._held.popleft() for _ in range(item.length)]
            found.append(item._replace(offset=parts[0].offset, length=sum(part.length for part in parts)))
        return found
