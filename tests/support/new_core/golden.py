# SPDX-License-Identifier: BSD-2-Clause
"""The golden function of the dummy core: every symbol passes through. It becomes `model/pass_through.py`."""

from __future__ import annotations

from collections.abc import Iterable

from utf8fpga.model.golden import Symbol

__all__ = ["PassThrough"]


class PassThrough:
    """Every symbol of a packet as it is."""

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Symbol]:
        """See `Golden.process`."""
        return [Symbol(1, symbol) for symbol in symbols]

    def getstate(self) -> None:
        """There is one state."""

    def setstate(self, state: None) -> None:
        """See `getstate`."""
