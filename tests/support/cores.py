# SPDX-License-Identifier: BSD-2-Clause
"""The cores that the one harness checks, the packets that it sends them, and what CPython says of these.

Of tables that CPython does not know, the model says it; `tests/model` compares that with the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from support.codecs_oracle import encoded_by_cpython, units_of_bytes
from support.engines import ENGINE
from support.oracle import REPRESENTATIVES, items_of, report_of
from support.strategies import any_text
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    Word,
    build,
    entry_of,
)
from utf8fpga.hdl.payloads import OutputUnit
from utf8fpga.model import DFA, GENERALISED_UTF_8, RFC_2279, TABLE_3_7, UTF_16, ErrorKind
from utf8fpga.model.encodings import encoding_named
from utf8fpga.sim import Simulation

BOUNDS = [
    point + step
    for point in (0, 0x80, 0x800, 0xD800, 0xDC00, 0xE000, 0xFFFD, 0x10000, 0x20000, 0x100000, 0x110000, 1 << 31)
    for step in (-1, 0, 1)
    if point + step >= 0
]
"""Words near which the units of an encoder change."""

LONG_PIECES = (
    *(b"\xf0\x90\x80\x80", b"\xf0\x90\x80A", b"\xf0\x80\x80\x80", b"\xe1\x80\xe1\x80\x80", b"\xf4\x90\x80\x80"),
    *(b"\xf0\x9f\x98\x80\xf0\x9f\x98", "é€😀a".encode(), "😀xy".encode() * 9, "\ufffd".encode() + b"\xff"),
)
"""Sequences of more than three bytes, whole, damaged and cut off."""


def _smoke() -> Iterator[CoreParameters]:
    """One of each circuit; the widest have four lanes."""
    yield from (DecoderParameters(optimize=optimize, kind=True) for optimize in ("area", "speed"))
    yield DecoderParameters(lanes=4, packed=False, kind=True)
    yield from (DecoderParameters(lanes=lanes) for lanes in (3, 4))
    yield from (EncoderParameters(lanes=lanes) for lanes in (1, 2))
    yield TranscoderParameters(optimize="area")
    yield TranscoderParameters(to="utf-16-le", lanes=4)
    yield SanitizerParameters(lanes=4)
    yield ValidatorParameters()
    yield RemoverParameters(lanes=3, width=20, user=3)


def _full() -> Iterator[CoreParameters]:
    """Other options, other tables, and other numbers of lanes."""
    yield from (DecoderParameters(optimize=optimize) for optimize in ("area", "speed"))
    yield from (DecoderParameters(lanes=lanes, packed=False, kind=True) for lanes in (2, 3, 8))
    yield from (DecoderParameters(lanes=lanes, kind=True) for lanes in (2, 5, 8))
    yield from (DecoderParameters(lanes=4, packed=packed, optimize="area") for packed in (True, False))
    for table in (RFC_2279, GENERALISED_UTF_8, UTF_16):
        yield from (DecoderParameters(table=table, optimize=optimize, kind=True) for optimize in ("area", "speed"))
        yield DecoderParameters(table=table, lanes=3, packed=False, kind=True)
    yield from (EncoderParameters(to=to) for to in ("utf-16-le", "utf-16-be"))
    yield EncoderParameters(to="utf-16-le", lanes=4)
    yield TranscoderParameters(optimize="speed")
    for from_, to in (("utf-8", "utf-16-le"), ("utf-16-be", "utf-8"), ("utf-16-le", "utf-16-be")):
        yield from (TranscoderParameters(from_=from_, to=to, optimize=optimize) for optimize in ("area", "speed"))
        yield from (TranscoderParameters(from_=from_, to=to, lanes=lanes) for lanes in (2, 3))
    yield from (TranscoderParameters(lanes=lanes) for lanes in (2, 3, 4))
    yield from (SanitizerParameters(lanes=lanes) for lanes in (1, 2, 3, 8))
    yield SanitizerParameters(lanes=4, optimize="area", replace_with="none")
    yield from (SanitizerParameters(table=table, lanes=2) for table in (UTF_16, RFC_2279))
    yield from (ValidatorParameters(lanes=lanes) for lanes in (2, 3, 4, 8))
    yield from (ValidatorParameters(table=table) for table in (RFC_2279, GENERALISED_UTF_8))
    yield from (RemoverParameters(lanes=lanes) for lanes in (2, 4, 5))


def _wide() -> Iterator[CoreParameters]:
    """Every number of lanes up to 17, 32 and 64."""
    for lanes in (*range(5, 18), 32, 64):
        yield from (DecoderParameters(lanes=lanes, packed=packed, kind=True) for packed in (True, False))
        yield SanitizerParameters(lanes=lanes)
        yield ValidatorParameters(lanes=lanes)
        yield RemoverParameters(lanes=lanes, width=4)
        if lanes <= 32:
            yield EncoderParameters(to="utf-16-le", lanes=lanes)
            yield from (TranscoderParameters(to=to, lanes=lanes) for to in ("utf-8", "utf-16-le"))


SMOKE, FULL, WIDE = ({each.name: each for each in cores()} for cores in (_smoke, _full, _wide))


def cores_under_test() -> dict[str, CoreParameters]:
    """The cores by name: those of the first tier, then of the second, then those of many lanes."""
    return {**WIDE, **FULL, **SMOKE}


@cache
def simulation_of(parameters: CoreParameters) -> Simulation:
    """The simulation of a core, elaborated once for all tests of this process."""
    return Simulation(build(parameters), engine=ENGINE)


def source_of(parameters: Any) -> str:
    """The encoding of the input, by CPython's name; empty if CPython does not know it."""
    if parameters.core == "transcoder":
        return str(parameters.from_)
    is_text = getattr(parameters, "table", None) == TABLE_3_7
    return "utf-8" if is_text else ""


def expected(parameters: Any, packet: Sequence[int]) -> list[Any]:
    """The output of a core for a packet."""
    kind, source = parameters.core, source_of(parameters)
    if kind == "remover":
        return list(packet)
    if kind == "encoder":
        return [unit for word in packet for unit in _encoded(*_scalar(word), parameters.to)]
    if not source:
        entry = entry_of(parameters)
        return [entry.comparable(symbol) for symbol in entry.golden().process(packet, final=True)]
    if kind == "transcoder":
        return [unit for point, is_error in _items(packet, source) for unit in _encoded(point, is_error, parameters.to)]
    text = bytes(packet)
    if kind == "validator":
        return [report_of(text).saturated()]
    if kind == "decoder":
        return [
            Word(point, _cause(cause) if parameters.kind else cause is not None) for *_, point, cause in items_of(text)
        ]
    other = 0x3F if parameters.replace_with == "question-mark" else None
    return [
        OutputUnit(text[at] if cause is None or other is None else other, cause is not None)
        for offset, length, _, cause in items_of(text)
        for at in range(offset, offset + length)
    ]


def _cause(name: str | None) -> ErrorKind | None:
    return None if name is None else ErrorKind[name]


def _scalar(word: int) -> tuple[int, bool]:
    """The scalar value that is encoded for a word, and whether that is no scalar value."""
    is_scalar = word < 0xD800 or 0xE000 <= word < 0x110000
    return (word, False) if is_scalar else (0xFFFD, True)


def _encoded(point: int, is_error: bool, to: str) -> list[OutputUnit]:
    """The units of a code point, each with whether it stands for something ill-formed."""
    return [OutputUnit(unit, is_error) for unit in units_of_bytes(encoded_by_cpython(chr(point), to), to)]


def _items(packet: Sequence[int], source: str) -> list[tuple[int, bool]]:
    """The code points of a packet, each with whether it stands for something ill-formed."""
    if source == "utf-8":
        return [(point, cause is not None) for _, _, point, cause in items_of(bytes(packet))]
    data = b"".join(unit.to_bytes(2, "little") for unit in packet)
    return [_scalar(ord(each)) for each in data.decode(source, "surrogatepass")]


def pieces_of(parameters: Any) -> list[Sequence[int]]:
    """All sequences of up to three classes of input symbols, and some longer ones."""
    if parameters.core == "encoder":
        return [[word] for word in range(0, 1 << 21, 997)] + [[one, two] for one in BOUNDS for two in BOUNDS[::3]]
    if parameters.core == "remover":
        return [list(range(1, count)) for count in range(5)]
    if source_of(parameters) == "utf-8":
        products = [bytes(each) for length in range(4) for each in product(REPRESENTATIVES, repeat=length)]
        return [*products, *(piece[:end] for piece in LONG_PIECES for end in range(4, len(piece) + 1))]
    if parameters.core == "transcoder":
        swapped = encoding_named(parameters.from_).swapped
        units = [swapped(unit) for unit in (0x41, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFD)]
    else:
        units = [each.ranges[0].first for each in DFA.of(parameters.table).classes]
    return [each for length in range(4) for each in product(units, repeat=length)]


def packets_of(parameters: Any) -> list[tuple[int, ...]]:
    """The pieces, each beginning in every one of the first lanes; half of them with a symbol behind."""
    lanes, pieces = parameters.lanes, pieces_of(parameters)
    (letter, *_), *_ = sequences_of(parameters)
    starts = range(lanes) if lanes <= 4 and len(pieces) * lanes < 9000 else None
    placed = [
        (start, number, piece)
        for number, piece in enumerate(pieces)
        for start in (starts or [number % lanes if number % 2 else lanes - 1 - number % min(lanes, 4)])
    ]
    return [(*[letter] * start, *piece, *[letter] * ((number + start) % 2)) for start, number, piece in placed]


def sequences_of(parameters: Any) -> list[list[int]]:
    """Input symbols: three characters, the second one long; one that is ill-formed, and part of the long one."""
    code_points = [0x41, 0x1F600, 0xE9]
    if parameters.core == "encoder":
        return [[each] for each in (*code_points[:2], 0x110000)]
    if parameters.core == "remover":
        return [[each & (1 << parameters.width) - 1] for each in code_points]
    encoding = encoding_named(parameters.from_) if parameters.core == "transcoder" else None
    table = encoding.table if encoding else parameters.table
    found = [table.encode(each) for each in code_points]
    found += [found[1][-1:], found[1][:-1]]
    return [[encoding.swapped(unit) if encoding else unit for unit in each] for each in found]


def packets(parameters: Any) -> st.SearchStrategy[list[Sequence[int]]]:
    """Any packets for a core."""
    if parameters.core == "encoder":
        words = st.sampled_from(BOUNDS) | st.integers(0, 0x10FFFF) | st.integers(0, (1 << 32) - 1)
        return st.lists(st.lists(words, max_size=9), max_size=6)
    if parameters.core == "remover":
        symbols = st.integers(0, (1 << parameters.width + parameters.user) - 1)
        return st.lists(st.lists(symbols, max_size=4 * parameters.lanes), max_size=6)
    if parameters.core == "transcoder":
        encoding = encoding_named(parameters.from_)
        texts = any_text(encoding.table).map(lambda text: [encoding.swapped(unit) for unit in text])
    else:
        texts = any_text(parameters.table).map(list)
    return st.lists(texts, max_size=6)
