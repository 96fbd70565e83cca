# SPDX-License-Identifier: BSD-2-Clause
"""Named test vectors of UTF-8 by cause, with the expected items, for use in any test bench."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import chain, pairwise, starmap
from typing import Any, NamedTuple, TypeVar

from utf8fpga.model.decoder import Item
from utf8fpga.model.dfa import DFA, START
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.practices import Decoder, Practice
from utf8fpga.model.ranges import Range
from utf8fpga.model.table import EncodingTable
from utf8fpga.model.text import decode

__all__ = ["VECTOR_FORMATS", "Vector", "render_vectors", "vectors"]

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

    def expected(self, practice: Practice | str) -> list[Item]:
        """The items of the golden decoder with a replacement practice."""
        return list(decode(self.units, practice=practice))


def vectors() -> list[Vector]:
    """All vectors of UTF-8: each ill-formed sequence alone and followed by Z, then the standard's examples."""
    found = [Vector("empty", b""), *starmap(Vector, _well_formed(TABLE_3_7))]
    for name, units in chain(_single_units(TABLE_3_7), _outside_the_rows(TABLE_3_7), _cut_off(TABLE_3_7)):
        found += [Vector(name, units), Vector(f"{name}_z", units + _Z)]
    found += [Vector(name, bytes.fromhex(units)) for name, units in DOCUMENTS.items()]
    return found


_T = TypeVar("_T")
_Named = Iterator[tuple[str, bytes]]


def _well_formed(table: EncodingTable) -> _Named:
    for number, row in enumerate(table.rows, 1):
        yield f"row_{number}_first", bytes(row.encode(row.code_points.first))
        yield f"row_{number}_last", bytes(row.encode(row.code_points.last))


def _single_units(table: EncodingTable) -> _Named:
    """For each cause of a single ill-formed unit: the first such unit, the last one, and all of them as one text."""
    dfa = DFA.of(table)
    units: dict[ErrorKind, list[int]] = {}
    for unit in range(1 << table.unit_width):
        if dfa.step(START, unit) < START:
            units.setdefault(cause(table, [unit], None), []).append(unit)
    for kind, alike in units.items():
        name = kind.name.lower()
        yield f"{name}_unit_first", bytes(alike[:1])
        yield f"{name}_unit_last", bytes(alike[-1:])
        yield f"{name}_units_all", bytes(alike)


def _outside_the_rows(table: EncodingTable) -> _Named:
    """Complete sequences that fit the bit distribution and no row: overlong, surrogates, out of range."""
    shorter = 0
    for length, pattern in table.patterns.items():
        if length > 1:
            yield f"overlong_{length}_lowest", bytes(pattern.encode(0))
            yield f"overlong_{length}_highest", bytes(pattern.encode(shorter))
        shorter = pattern.code_points.last
    for before, after in pairwise(table.code_points):
        hole = Range(before.last + 1, after.first - 1)
        pattern = next(p for p in table.patterns.values() if hole.last <= p.code_points.last)
        middle = hole.first + len(hole) // 2
        yield "surrogate_first", bytes(pattern.encode(hole.first))
        yield "surrogate_high_last", bytes(pattern.encode(middle - 1))
        yield "surrogate_low_first", bytes(pattern.encode(middle))
        yield "surrogate_last", bytes(pattern.encode(hole.last))
        yield "surrogate_pair", bytes(pattern.encode(hole.first)) + bytes(pattern.encode(hole.last))
    longest = table.patterns[table.longest]
    yield "out_of_range_lowest", bytes(longest.encode(table.last_code_point + 1))
    yield "out_of_range_highest", bytes(longest.encode(longest.code_points.last))


def boundary_texts(table: EncodingTable) -> Iterator[tuple[str, list[int]]]:
    """Texts of any table by name: the ends of each row, cut off, and with units next to the bounds of a range."""
    z = table.encode(_Z[0])
    for number, row in enumerate(table.rows, 1):
        for end, point in (("first", row.code_points.first), ("last", row.code_points.last)):
            sequence, name = list(row.encode(point)), f"row_{number}_{end}"
            yield name, sequence
            for place, allowed in enumerate(row.units):
                if place:
                    yield f"{name}_cut_at_{place}", sequence[:place]
                for unit in (allowed.first - 1, allowed.last + 1):
                    if 0 <= unit < 1 << table.unit_width:
                        yield f"{name}_unit_{place}_{unit:x}", [*sequence[:place], unit, *sequence[place + 1 :], *z]


def _cut_off(table: EncodingTable) -> _Named:
    for number, row in enumerate(table.rows, 1):
        for end, point in (("first", row.code_points.first), ("last", row.code_points.last)):
            sequence = bytes(row.encode(point))
            for kept in range(1, len(sequence)):
                yield f"cut_row_{number}_{end}_after_{kept}", sequence[:kept]


def _item_dict(item: Item, **others: Any) -> dict[str, Any]:
    return item._asdict() | {"error": item.error.name if item.error else None} | others


def _suite_vector(vector: Vector) -> dict[str, Any]:
    """A vector with its cause, the bytes of the open sequence after each byte, and the items of every practice."""
    decoder, open_bytes = Decoder(TABLE_3_7), []
    for unit in vector.units:
        decoder.decode([unit])
        open_bytes.append(len(decoder.getstate()[0]))
    causes = [item.error.name for item in vector.expected(Practice.MAXIMAL_SUBPARTS) if item.error]
    expected = {practice.value: list(_suite_items(vector.units, practice)) for practice in Practice}
    return {
        "name": vector.name,
        "cause": causes[0] if causes else None,
        "bytes": vector.units.hex().upper(),
        "open_bytes": open_bytes,
        "expected": expected,
        "marks": {name: sum(item["error"] is not None for item in items) for name, items in expected.items()},
    }


def _suite_items(units: bytes, practice: Practice) -> Iterator[dict[str, Any]]:
    """The items, each with the number of bytes that determine it; None: the end of the text does."""
    decoder = Decoder(practice=practice)
    steps = [
        *((number, decoder.decode([unit])) for number, unit in enumerate(units, 1)),
        (None, decoder.decode(b"", True)),
    ]
    return (_item_dict(item, determined_after=number) for number, items in steps for item in items)


def _as_json(_practice: Practice) -> str:
    head = {"version": 1, "causes": [kind.name for kind in ErrorKind], "practices": list(Practice)}
    return json.dumps(head | {"vectors": list(map(_suite_vector, vectors()))}, indent=1) + "\n"


def _as_schema(_practice: Practice) -> str:
    """The JSON Schema of ``json``."""
    return files("utf8fpga.model").joinpath("vectors.schema.json").read_text(encoding="utf-8")


def _as_readmemh(practice: Practice) -> str:
    """See `memory_file`."""
    expected = [(vector, vector.expected(practice)) for vector in vectors()]
    return memory_file(
        (vector.name, vector.units, entries((item.code_point, item.error is not None) for item in items))
        for vector, items in expected
    )


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


def _with_last(things: Sequence[_T]) -> Iterator[tuple[_T, bool]]:
    for number, thing in enumerate(things, 1):
        yield thing, number == len(things)


VECTOR_FORMATS: dict[str, Callable[[Practice], str]] = {
    "json": _as_json,
    "readmemh": _as_readmemh,
    "schema": _as_schema,
}
"""The formats of `render_vectors`, by name."""


def render_vectors(form: str = "json", practice: Practice | str = Practice.MAXIMAL_SUBPARTS) -> str:
    """All `vectors` with the expected items, as the contents of a file.

    Args:
        form: ``json`` contains every practice, with the byte that determines each item, and ``schema`` is its JSON
            Schema; ``readmemh``, for Verilog's ``$readmemh``, contains one practice.
        practice: the replacement practice of ``readmemh``, or its name; without effect on the others.

    Raises:
        ValueError: `form` is not in `VECTOR_FORMATS`, or `practice` is unknown.
    """
    if form not in VECTOR_FORMATS:
        raise InvalidArgumentError(f"format {form!r} is not one of {', '.join(VECTOR_FORMATS)}")
    return VECTOR_FORMATS[form](Practice(practice))
