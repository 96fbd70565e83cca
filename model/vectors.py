# SPDX-License-Identifier: BSD-2-Clause
"""Named test vectors of UTF-8 by cause, with the expected items, for use in any test bench."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

from utf8fpga.model.decoder import Item
from utf8fpga.model.dfa import DFA, START
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.practices import Practice
from utf8fpga.model.ranges import Range
from utf8fpga.model.table import EncodingTable
from utf8fpga.model.text import decode

__all__ = ["Vector", "vectors", "vectors_json"]

_Z = b"Z"
"""The byte after an ill-formed sequence in a second vector, which shows that the decoder resynchronises."""

DOCUMENTS = {
    "table_3_8": "C0 AF E0 80 BF F0 81 82 41",
    "table_3_9": "ED A0 80 ED BF BF ED AF 41",
    "table_3_10": "F4 91 92 93 FF 41 80 BF 42",
    "table_3_11": "E1 80 E2 F0 91 92 F1 BF 41",
    "d86_well_formed": "41 C3 B1 42",
    "d86_ill_formed": "41 C2 C3 B1 42",
    "successor_not_consumed": "C2 41 42",
    "single_or_several_errors": "F0 80 80 41",
}
"""The example byte sequences of section 3.9 of the Unicode Standard, by the table or definition."""


class Vector(NamedTuple):
    """One text to decode.

    Attributes:
        name: a unique identifier that describes the text.
        units: the bytes of the text.
    """

    name: str
    units: bytes


def vectors() -> list[Vector]:
    """All vectors of UTF-8: each ill-formed sequence alone and followed by Z, then the standard's examples."""
    found = [Vector("empty", b"")]
    found += [Vector(name, bytes(units)) for name, units in _row_ends(TABLE_3_7)]
    for name, units in chain(_single_units(TABLE_3_7), _outside_the_rows(TABLE_3_7), _cut_off(TABLE_3_7)):
        found += [Vector(name, bytes(units)), Vector(f"{name}_z", bytes(units) + _Z)]
    found += [Vector(name, bytes.fromhex(units)) for name, units in DOCUMENTS.items()]
    return found


_Named: TypeAlias = Iterator[tuple[str, Sequence[int]]]


def _row_ends(table: EncodingTable) -> _Named:
    for number, row in enumerate(table.rows, 1):
        yield f"row_{number}_first", row.encode(row.code_points.first)
        yield f"row_{number}_last", row.encode(row.code_points.last)


def _cut_off(table: EncodingTable) -> _Named:
    for name, sequence in _row_ends(table):
        for length in range(1, len(sequence)):
            yield f"{name}_cut_at_{length}", sequence[:length]


def _single_units(table: EncodingTable) -> _Named:
    """For each cause of a single ill-formed unit: the first such unit, the last one, and all of them as one text."""
    dfa = DFA.of(table)
    units: dict[ErrorKind, list[int]] = {}
    for unit in range(1 << table.unit_width):
        if dfa.step(START, unit) < START:
            units.setdefault(cause(table, [unit], None), []).append(unit)
    for kind, alike in units.items():
        name = kind.name.lower()
        yield f"{name}_unit_first", alike[:1]
        yield f"{name}_unit_last", alike[-1:]
        yield f"{name}_units_all", alike


def _outside_the_rows(table: EncodingTable) -> _Named:
    """Complete sequences that fit the bit distribution and no row: overlong, surrogates, out of range."""
    shorter = 0
    for length, pattern in table.patterns.items():
        if length > 1:
            yield f"overlong_{length}_lowest", pattern.encode(0)
            yield f"overlong_{length}_highest", pattern.encode(shorter)
        shorter = pattern.code_points.last
    for before, after in pairwise(table.code_points):
        hole = Range(before.last + 1, after.first - 1)
        pattern = next(p for p in table.patterns.values() if hole.last <= p.code_points.last)
        middle = hole.first + len(hole) // 2
        yield "surrogate_first", pattern.encode(hole.first)
        yield "surrogate_high_last", pattern.encode(middle - 1)
        yield "surrogate_low_first", pattern.encode(middle)
        yield "surrogate_last", pattern.encode(hole.last)
        yield "surrogate_pair", pattern.encode(hole.first) + pattern.encode(hole.last)
    longest = table.patterns[table.longest]
    yield "out_of_range_lowest", longest.encode(table.last_code_point + 1)
    yield "out_of_range_highest", longest.encode(longest.code_points.last)


def boundary_texts(table: EncodingTable) -> _Named:
    """Texts of any table by name: the ends of each row, cut off, and with units next to the bounds of a range."""
    yield from _row_ends(table)
    yield from _cut_off(table)
    z = table.encode(_Z[0])
    for name, sequence in _row_ends(table):
        row = next(row for row in table.rows if row.matches(sequence))
        for place, allowed in enumerate(row.units):
            for unit in (allowed.first - 1, allowed.last + 1):
                if 0 <= unit < 1 << table.unit_width:
                    yield f"{name}_unit_{place}_{unit:x}", [*sequence[:place], unit, *sequence[place + 1 :], *z]


def vectors_json() -> str:
    """All `vectors` as JSON, each with the items of every practice."""
    found = []
    for name, units in vectors():
        expected = {practice.value: list(map(_item_dict, decode(units, practice=practice))) for practice in Practice}
        found.append({"name": name, "bytes": units.hex().upper(), "expected": expected})
    return json.dumps({"version": 2, "vectors": found}, indent=1) + "\n"


def _item_dict(item: Item) -> dict[str, Any]:
    return item._asdict() | {"error": item.error.name if item.error else None}


def entries(symbols: Iterable[tuple[int, bool]]) -> list[tuple[int, int]]:
    """The tags and data in a memory file of an output packet: of symbols with their error flags."""
    found = [(8 + 2 * error + last, value) for (value, error), last in _with_last(list(symbols))]
    return found or [(0xC, 0)]


def memory_file(texts: Iterable[tuple[str, Sequence[int], Sequence[tuple[int, int]]]], digits: int = 8) -> str:
    """A memory file for ``$readmemh``: for each text its input beats, then the expected output.

    A word of the file has a tag of 4 bits, above the bits of its data. Tags of stimulus: 1, a symbol; 3, a symbol with
    `last`; 2, a beat with `last` and no symbol. Tags of expected output: 8, a symbol; A, a symbol with the error flag;
    each plus 1 with `last`; C, a beat with `last` and no symbol; D, the report of a tap; E, the report beside the last
    beat of a stream. Tag F ends the file.

    Args:
        texts: for each text its name, its symbols, and the tags and data of its output.
    """
    lines = ["// stimulus 1: byte, 3: last byte, 2: end without a byte"]
    lines += ["// expected 8: word, A: word with the error flag, +1: last, C: end without a word; F: end of the file"]
    for name, units, outputs in texts:
        lines.append(f"// {name}")
        lines += [f"{'3' if last else '1'}{unit:0{digits}X}" for unit, last in _with_last(units)]
        lines += [] if units else [f"2{0:0{digits}X}"]
        lines += [f"{tag:X}{value:0{digits}X}" for tag, value in outputs]
    return "\n".join([*lines, f"F{0:0{digits}X}"]) + "\n"


_T = TypeVar("_T")


def _with_last(things: Sequence[_T]) -> Iterator[tuple[_T, bool]]:
    for number, thing in enumerate(things, 1):
        yield thing, number == len(things)
