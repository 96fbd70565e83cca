# SPDX-License-Identifier: BSD-2-Clause
"""The partition of a text by the definitions of the standard, and the items of every practice, from CPython."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from support.oracle import Expected, items_of, strictly_decodes
from utf8fpga.model import Practice

# The partition by the definitions D84a and D85a.

LONGEST = {"UTF-8": 4, "UTF-16": 2, "UTF-32": 1, "CESU-8": 6}
Part = tuple[int, tuple[int, ...], int | None]


def text_of(units: Sequence[int], form: str) -> str:
    """The text that CPython decodes, or a UnicodeDecodeError."""
    if form == "UTF-8":
        return bytes(units).decode()
    if form == "CESU-8":
        if any(unit >= 0xF0 for unit in units):
            raise UnicodeDecodeError("cesu-8", bytes(units), 0, 1, "four bytes")
        halves = bytes(units).decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    size, codec = (2, "utf-16-be") if form == "UTF-16" else (4, "utf-32-be")
    return b"".join(unit.to_bytes(size, "big") for unit in units).decode(codec)


def code_point_of(units: Sequence[int], form: str) -> int | None:
    """The scalar value of a minimal well-formed subsequence (D85a), else None."""
    try:
        decoded = text_of(units, form)
    except UnicodeDecodeError:
        return None
    return ord(decoded) if len(decoded) == 1 else None


def by_definition(units: Sequence[int], form: str) -> list[Part]:
    """All slices that are well-formed by D85a, and by D84a the runs of units that no such slice contains."""
    parts: list[Part] = []
    covered = [False] * len(units)
    for start in range(len(units)):
        for end in range(start + 1, min(start + LONGEST[form], len(units)) + 1):
            point = code_point_of(units[start:end], form)
            if point is not None:
                assert not any(covered[start:end])
                covered[start:end] = [True] * (end - start)
                parts.append((start, tuple(units[start:end]), point))
    marks = "".join("." if each else "!" for each in covered)
    runs = ((run.start(), tuple(units[run.start() : run.end()]), None) for run in re.finditer("!+", marks))
    return sorted([*parts, *runs], key=lambda part: part[0])


# What each practice gives, from CPython and the words of its definition.


def cause_at(data: bytes) -> dict[int, str | None]:
    """For each offset the cause of the maximal subpart that contains the byte."""
    return {offset + n: kind for offset, length, _, kind in items_of(data) for n in range(length)}


def expected_each(data: bytes) -> list[Expected]:
    found: list[Expected] = []
    for offset, length, point, kind in items_of(data):
        marks = [(offset + n, 1, 0xFFFD, kind) for n in range(length)]
        found += marks if kind else [(offset, length, point, None)]
    return found


def expected_whole(data: bytes) -> list[Expected]:
    causes = cause_at(data)
    parts = by_definition(data, "UTF-8")
    return [
        (offset, len(units), 0xFFFD, causes[offset]) if point is None else (offset, len(units), point, None)
        for offset, units, point in parts
    ]


KUHN_SEQUENCE = re.compile(
    rb"[\x00-\x7F]|[\xC0-\xDF][\x80-\xBF]?|[\xE0-\xEF][\x80-\xBF]{0,2}|[\xF0-\xF7][\x80-\xBF]{0,3}"
    rb"|[\xF8-\xFB][\x80-\xBF]{0,4}|[\xFC\xFD][\x80-\xBF]{0,5}|[\x80-\xBF\xFE\xFF]"
)


def expected_malformed(data: bytes) -> list[Expected]:
    causes = cause_at(data)
    found: list[Expected] = []
    for match in KUHN_SEQUENCE.finditer(data):
        well_formed = strictly_decodes(match.group())
        point = ord(match.group().decode()) if well_formed else 0xFFFD
        found.append((match.start(), len(match.group()), point, None if well_formed else causes[match.start()]))
    return found


def expected_first(data: bytes) -> list[Expected]:
    items = items_of(data)
    ill_formed = [number for number, item in enumerate(items, 1) if item[3]]
    return items[: ill_formed[0]] if ill_formed else items


EXPECTED: dict[Practice, Callable[[bytes], list[Expected]]] = {
    Practice.MAXIMAL_SUBPARTS: items_of,
    Practice.START_OF_A_SEQUENCE: items_of,
    Practice.EACH_UNIT: expected_each,
    Practice.WHOLE_SUBSEQUENCE: expected_whole,
    Practice.MALFORMED_SEQUENCE: expected_malformed,
    Practice.FIRST_ERROR: expected_first,
}
