# SPDX-License-Identifier: BSD-2-Clause
"""The golden function of the null-word remover: every symbol of a packet, in order."""

from __future__ import annotations

from collections.abc import Iterable

from utf8fpga.model.golden import Symbol


class GoldenRemover:
    """Every symbol of a packet as it is: the remover changes only the lanes in which they are.

    >>> GoldenRemover().process([7, 300], final=True)
    [Symbol(length=1, value=7), Symbol(length=1, value=300)]
    """

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Symbol]:
        """See `Golden.process`."""
        return [Symbol(1, symbol) for symbol in symbols]
