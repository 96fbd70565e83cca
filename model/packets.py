# SPDX-License-Identifier: BSD-2-Clause
"""A fast golden function of decoders for many packets. Requires NumPy, of the extra ``arrays``."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.model.table import EncodingTable, TableError, checked_table
from utf8fpga.model.text import decode


class PacketDecoder:
    """A `BulkGolden` for packets of code units of 8 bits, under the practice of maximal subparts.

    A packet's end breaks an open sequence as a unit does that continues none. So all packets are decoded as one text
    in which a separator, a unit that is a sequence by itself, follows each packet. Without `causes` CPython decodes a
    text in UTF-8, unless it contains both U+FFFD and U+FFFF.

    Args:
        table: the encoding form; default: UTF-8.
        causes: the columns are `code_point`, `error` and `kind`; otherwise only the first two.

    Raises:
        TableError: the table is not self-synchronising, code units do not have 8 bits, or no unit is a sequence by
            itself.

    >>> decoder = PacketDecoder()
    >>> symbols = decoder.process(b"A\\xe2\\x82B\\xc3", [3])
    >>> symbols.columns["code_point"].tolist(), symbols.ends.tolist(), symbols.pending
    ([65, 65533, 66], [2], 1)
    """

    def __init__(self, table: EncodingTable = TABLE_3_7, *, causes: bool = False) -> None:
        self._table = replace(checked_table(table), self_synchronising=True)  # Raises TableError if it is not.
        separators = [row for row in table.rows if len(row.units) == 1]
        if table.unit_width != 8 or not separators:
            raise TableError(f"{table.name}: packets require units of 8 bits, one of which is a sequence by itself")
        self._unit, self._point = separators[0].units[0].first, separators[0].code_points.first
        self._by_codec = table is TABLE_3_7 and not causes
        self._causes = causes
        self._rest = np.empty(0, np.uint8)

    def process(self, symbols: bytes, ends: Sequence[int]) -> BulkSymbols:
        """See `BulkGolden.process`."""
        units = np.frombuffer(symbols, np.uint8)
        at = np.asarray(ends, np.int64) + len(self._rest)
        if len(self._rest):
            units = np.concatenate([self._rest, units])
        separators = at + np.arange(len(at))
        text = np.insert(units, at, self._unit) if len(at) else units
        data = text.tobytes()
        by_codec = self._by_codec and (_MARK not in data or _OTHER not in data)
        columns, places, used = (
            self._by_codecs(data, text, separators) if by_codec else self._by_items(text, separators)
        )
        self._rest = text[used:]
        if len(places):
            columns = {name: np.delete(column, places) for name, column in columns.items()}
        return BulkSymbols(columns, places - np.arange(len(places)), len(self._rest))

    def _by_codecs(
        self, data: bytes, text: NDArray[np.uint8], separators: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], int]:
        """The columns, the indices of the separators in them, and the number of units used."""
        # A U+FFFD of the text, which is not an error, is another character meanwhile.
        decoded, used = codecs.utf_8_decode(data.replace(_MARK, _OTHER), "replace", False)
        points = np.frombuffer(decoded.encode("utf-32-le"), np.uint32)
        errors = points == REPLACEMENT_CHARACTER
        if _MARK in data:
            points = np.where(points == ord(_OTHER.decode()), REPLACEMENT_CHARACTER, points)
        # Each such unit is an item, so the indices of the units and of the items correspond.
        ranks = np.searchsorted(np.flatnonzero(text == self._unit), separators)
        places = np.flatnonzero(points == self._point)[ranks]
        return {"code_point": points, "error": errors}, places, used

    def _by_items(
        self, text: NDArray[np.uint8], separators: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], int]:
        items = list(decode(text.tobytes(), self._table))
        used = items.pop().offset if items and items[-1].error is ErrorKind.INCOMPLETE else len(text)
        places = np.searchsorted(np.array([item.offset for item in items], np.int64), separators)
        points = np.array([item.code_point for item in items], np.uint32)
        kinds = np.array([item.error or 0 for item in items], np.uint8)
        last = places[places > 0] - 1
        kinds[last[kinds[last] == ErrorKind.TRUNCATED]] = ErrorKind.INCOMPLETE
        columns: dict[str, NDArray[Any]] = {"code_point": points, "error": kinds != 0}
        if self._causes:
            columns["kind"] = kinds
        return columns, places, used


_MARK, _OTHER = chr(REPLACEMENT_CHARACTER).encode(), "\uffff".encode()
"""U+FFFD, and a character of the same length that hardly any text contains."""
