# SPDX-License-Identifier: BSD-2-Clause
"""Golden functions of cores: packets of symbols in, packets of symbols out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable


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

    def process(self, symbols: Iterable[int], /, final: bool = False) -> Sequence[Any]:
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
