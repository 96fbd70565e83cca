# SPDX-License-Identifier: BSD-2-Clause
"""Input for long simulations: packets and pauses, of which each seed determines some. Requires the extra ``arrays``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.model import EncodingTable
from utf8fpga.sim.beats import PLAIN, StreamOptions, symbol_width
from utf8fpga.sim.boundaries import boundary_sequences, boundary_units

_PACKETS = 1 << 13
"""Upper bound on the packets, except those of boundary sequences."""

_ALIGNED = 1 << 18
"""Upper bound on the symbols of boundary sequences; if there are more, each seed has a part of them."""

_MEANS = (1, 4, 30, 300, 3000, None)
"""Mean lengths of packets; None: one packet."""

_DAMAGE = (0.0, 1e-4, 1e-2, 0.1)
"""Shares of the symbols of a text that are damaged."""

_CHARACTERS = 1 << 12
"""Characters of a random text, which is repeated as often as necessary."""

_NEAR = 0.1
"""The share of bounds with an inverted bit."""

_ERRORS = 0.1
"""The share of well-formed packets in which a symbol is replaced, and of those to which one is added."""

_LONGEST_PATTERN = 48

_Symbols = NDArray[np.uint64]


@dataclass(frozen=True)
class Traffic:
    """Packets and pauses.

    Attributes:
        symbols: the symbols of all packets.
        ends: for each packet the number of symbols before its end, ascending; the last packet ends after all symbols.
        options: how they are sent.
    """

    symbols: _Symbols
    ends: NDArray[np.int64]
    options: StreamOptions = PLAIN


def traffic(
    seed: int,
    size: int,
    *,
    corpus: bytes = b"",
    table: EncodingTable | None = None,
    width: int = 8,
    lanes: int = 1,
    has_gaps: bool = False,
) -> Traffic:
    """Packets that differ for each seed, and are the same for the same arguments.

    One seed in four each has: parts of the corpus, or random characters of the table, which are damaged at random, or
    characters in packets most of which are well-formed, with one error in others; noise; bounds of the ranges of the
    table and the units next to them, at random, some of them with an inverted bit; and a part of the combinations of
    these bounds, one in each packet, at every alignment. Two in five have pauses, null beats or both; they have an
    eighth of the symbols.

    Args:
        seed: any integer that is not negative.
        corpus: a text; without effect if symbols do not have 8 bits.
        table: the encoding form; default: noise in place of its bounds.
        width: bits in a symbol; of more than 64 bits, the lower 64 are random and the others 0.
        has_gaps: two seeds in three have gaps.
    """
    width = min(width, 64)
    draw = np.random.default_rng(seed)
    has_pauses = draw.random() < 0.4
    if has_pauses:
        size //= 8
    kind = seed % 4
    mean = _MEANS[int(draw.integers(len(_MEANS)))]
    if mean is not None:
        size = min(size, mean * _PACKETS)
    ends = None
    if kind == 3 and table is not None:
        symbols, ends = _at_every_alignment(seed // 4, table, lanes)
    elif kind == 0 and corpus and width == 8 and (table is None or draw.random() < 0.5):
        symbols = _damaged(draw, np.frombuffer(corpus, np.uint8), size, width)
    elif kind == 0 and table is not None:
        symbols, ends = _text(draw, table, size, width, mean)
    else:
        symbols = _units(draw, table if kind == 2 else None, size, width)
    if ends is None:
        ends = _cut(draw, len(symbols), mean)
    input_pauses, output_pauses, null_beats = (_pattern(draw, has_pauses, 0.6) for _ in range(3))
    separate_ends = (draw.random(int(draw.integers(1, 9))) < draw.choice([0, 0.5, 1])).tolist()
    gaps = _pattern(draw, has_gaps, 2 / 3)
    return Traffic(symbols, ends, StreamOptions(input_pauses, output_pauses, separate_ends, null_beats, gaps))


def traffic_for(core: Core, entry: CoreEntry[Any], seed: int, size: int, corpus: bytes) -> Traffic:
    """`traffic` for the input of a core; gaps only if the parameters accept them."""
    return traffic(
        seed,
        size,
        corpus=corpus,
        table=entry.input_table,
        width=symbol_width(core),
        lanes=core.lanes,
        has_gaps=entry.accepts_gaps,
    )


def _text(
    draw: np.random.Generator, table: EncodingTable, size: int, width: int, mean: int | None
) -> tuple[_Symbols, NDArray[np.int64] | None]:
    """Random characters, which are damaged at random or in packets with few errors; None: no packets yet."""
    symbols, between = _characters(draw, table, size)
    if draw.random() < 0.5:
        return _damaged(draw, symbols, size, width), None
    ends = np.append(np.sort(draw.choice(between, size // mean if mean else 0)), len(symbols))
    return _with_few_errors(draw, symbols, ends, table)


def _units(draw: np.random.Generator, table: EncodingTable | None, size: int, width: int) -> _Symbols:
    """Bounds of a table, some with an inverted bit; without a table, noise."""
    if table is None:
        return draw.integers(1 << width, size=size, dtype=np.uint64)
    symbols = draw.choice(np.array(boundary_units(table), np.uint64), size)
    inverted = np.flatnonzero(draw.random(size) < _NEAR)
    symbols[inverted] ^= _one_bit(draw, len(inverted), width)
    return symbols


def _pattern(draw: np.random.Generator, is_possible: bool, share: float) -> list[bool]:
    """No pauses, or in a share of the cases a pattern of them that begins without one: at random, or one long pause."""
    if not is_possible or draw.random() >= share:
        return [False]
    length = int(draw.integers(1, _LONGEST_PATTERN))
    if draw.random() < 0.3:
        return [False] * int(draw.integers(1, _LONGEST_PATTERN)) + [True] * length
    return [False, *(draw.random(length) < draw.choice([0.1, 0.3, 0.7])).tolist()]


def _characters(draw: np.random.Generator, table: EncodingTable, size: int) -> tuple[_Symbols, NDArray[np.int64]]:
    """Random characters, all rows equally likely, and the number of symbols before each."""
    found = []
    for number in draw.integers(len(table.rows), size=max(1, min(size, _CHARACTERS))).tolist():
        row = table.rows[number]
        found.append(row.encode(int(draw.integers(row.code_points.first, row.code_points.last + 1))))
    found *= -(-size // len(found))
    lengths = np.array([len(units) for units in found], np.int64)
    return np.array(list(chain.from_iterable(found)), np.uint64), np.cumsum(lengths) - lengths


def _with_few_errors(
    draw: np.random.Generator, symbols: _Symbols, ends: NDArray[np.int64], table: EncodingTable
) -> tuple[_Symbols, NDArray[np.int64]]:
    """Well-formed packets of which some have a bound in place of a symbol, or their last symbol twice."""
    places = draw.integers(len(symbols), size=int(len(ends) * _ERRORS))
    symbols[places] = draw.choice(np.array(boundary_units(table), np.uint64), len(places))
    chosen = (draw.random(len(ends)) < _ERRORS) & (ends > 0)
    return np.insert(symbols, ends[chosen], symbols[ends[chosen] - 1]), ends + np.cumsum(chosen)


def _one_bit(draw: np.random.Generator, count: int, width: int) -> _Symbols:
    """Numbers with one bit each."""
    return np.uint64(1) << draw.integers(width, size=count).astype(np.uint64)


def _damaged(draw: np.random.Generator, corpus: NDArray[Any], size: int, width: int) -> _Symbols:
    """Parts of the corpus with symbols removed, duplicated, replaced or with a bit inverted."""
    start = int(draw.integers(len(corpus)))
    symbols = np.resize(np.roll(corpus, -start), size).astype(np.uint64)
    share = _DAMAGE[int(draw.integers(len(_DAMAGE)))]
    places = draw.integers(size, size=int(size * share))
    removed, duplicated, replaced, inverted = np.array_split(places, 4)
    symbols[replaced] = draw.integers(1 << width, size=len(replaced))
    symbols[inverted] ^= _one_bit(draw, len(inverted), width)
    counts = np.ones(size, np.int64)
    counts[removed], counts[duplicated] = 0, 2
    return np.repeat(symbols, counts)


def _cut(draw: np.random.Generator, size: int, mean: int | None) -> NDArray[np.int64]:
    """The ends of packets of a mean length, some of which are empty, in `size` symbols."""
    if mean is None:
        return np.array([size], np.int64)
    return np.append(np.sort(draw.integers(size + 1, size=size // mean)), size)


def _at_every_alignment(number: int, table: EncodingTable, lanes: int) -> tuple[_Symbols, NDArray[np.int64]]:
    """Boundary sequences, each in packets in which it has a certain alignment, at the end and before another unit.

    If they are many, they are parts, of which `number` selects one.
    """
    symbols, ends = _aligned(table, lanes)
    parts = -(-len(symbols) // _ALIGNED)
    bounds = np.linspace(0, len(ends), parts + 1).astype(int)
    first, after = bounds[number % parts], bounds[number % parts + 1]
    begin = int(ends[first - 1]) if first else 0
    return symbols[begin : ends[after - 1]], ends[first:after] - begin


@lru_cache(maxsize=2)
def _aligned(table: EncodingTable, lanes: int) -> tuple[_Symbols, NDArray[np.int64]]:
    whole = [row.units[0].last for row in table.rows if len(row.units) == 1]
    filler = whole[0] if whole else 0
    packets = [
        [filler] * alignment + [*sequence, *after]
        for alignment in range(lanes)
        for sequence in boundary_sequences(table)
        for after in ([], [filler])
    ]
    ends = np.cumsum([len(packet) for packet in packets])
    return np.array([unit for packet in packets for unit in packet], np.uint64), ends
