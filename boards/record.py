# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends: symbols of its core, and markers; the interface of the circuits that turn them into bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.protocol import COUNTERS

__all__ = ["COUNTERS_LAYOUT", "Record", "RecordForm", "record_layout"]

COUNTERS_LAYOUT = data.ArrayLayout(32, COUNTERS)
"""The values of the counters, in their order."""


class Record(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What a board sends: a symbol of its core, or a marker."""

    SYMBOL = 0
    END = 1
    """The end of a text."""
    LOST = 2
    """The end of a text at which received bytes were lost."""
    COUNTERS = 3
    """The answer to a request for the counters."""


def record_layout(symbol: Any) -> data.StructLayout:
    """The payload of a form's input.

    Fields:
        record: which record.
        symbol: the symbol of the core; undefined in a marker.

    Args:
        symbol: the shape of the core's output symbols.
    """
    return data.StructLayout({"record": Record, "symbol": symbol})


class RecordForm(wiring.Component):
    """A circuit that turns records into bytes.

    Args:
        symbol: the shape of the core's output symbols.
        is_error: whether a symbol is ill-formed.

    Ports:
        records: stream of `record_layout`.
        units: stream of the bytes that the core has received, in order. A form that does not use them does not
            transfer them.
        counters: the counters, which are steady while `records` has Record.COUNTERS.
        data: stream of bytes to send.

    Attributes:
        is_error: see above.
        uses_units: whether each symbol transfers its units.
    """

    uses_units = False

    def __init__(self, symbol: Any, is_error: Callable[[Any], Value]) -> None:
        self.is_error = is_error
        super().__init__(
            {
                "records": In(stream.Signature(record_layout(symbol))),
                "units": In(stream.Signature(8)),
                "counters": In(COUNTERS_LAYOUT),
                "data": Out(stream.Signature(8)),
            }
        )
