# SPDX-License-Identifier: BSD-2-Clause
"""Golden functions of cores: packets of symbols in, packets of symbols out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol


class Symbol(NamedTuple):
    """A symbol of an output packet.

    Attributes:
        length: the number of input symbols that it stands for, those since the output symbol before it.
        value: the symbol as an integer; of a validator, the report, which is the last symbol of its packet.
    """

    length: int
    value: Any


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
