# SPDX-License-Identifier: BSD-2-Clause
"""Where the rules of the older documents differ from Table 3-7: exact sets, by enumeration.

A rule is compared on byte sequences as whole texts. The bytes are cut into pieces that neither
the rule nor Table 3-7 tells apart at any position, so one sequence of pieces stands for the
product of their sizes, and all sequences of up to four bytes, some 2**32, are a few thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from itertools import chain, pairwise, product
from math import prod
from types import MappingProxyType

from utf8fpga.model.decoder import decode
from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.history.rules import (
    BROWN_FIRST_BYTES,
    BROWN_LIMIT,
    BROWN_RULES,
    TABLE_3_1B,
    Answer,
    Pattern,
    brown,
    hopwood,
    table_3_1b,
)
from utf8fpga.model.table import Range

__all__ = [
    "RULES",
    "Comparison",
    "Difference",
    "Direction",
    "Rule",
    "Word",
    "compare",
    "compare_documents",
    "comparison_text",
    "differing_words",
    "pieces_of",
    "table_3_7",
]


def table_3_7(data: bytes) -> Answer:
    """What Table 3-7 says of a whole text, `TRUNCATED` where more bytes could still make it well-formed.

    >>> table_3_7(b"\\xe1\\x80").name, table_3_7(b"\\xe0\\x80").name
    ('TRUNCATED', 'INVALID')
    """
    dfa, state = DFA.of(TABLE_3_7), START
    for unit in data:
        state = dfa.states[state].transitions[dfa.classify(unit)]
        if state == REJECT:
            return Answer.INVALID
    return Answer.VALID if state == START else Answer.TRUNCATED


@dataclass(frozen=True)
class Rule:
    """A rule to compare.

    Attributes:
        name: what the output calls it.
        source: the document.
        answer: what it says of a whole text.
        edges: the bytes at which it may begin to tell bytes apart: two bytes with no edge above
            the one and up to the other are the same to it at every position.
        note: how it differs, in words.
    """

    name: str
    source: str
    answer: Callable[[bytes], Answer]
    edges: frozenset[int]
    note: str


def _edges(ranges: Iterable[Range]) -> frozenset[int]:
    return frozenset(edge for allowed in ranges for edge in (allowed.first, allowed.last + 1))


def _edges_of_patterns(patterns: Iterable[Pattern]) -> frozenset[int]:
    return _edges(allowed for pattern in patterns for cell in pattern.cells for allowed in cell)


def _edges_of_bound(code_point: int, length: int) -> frozenset[int]:
    """The edges of comparing the payload of `length` bytes with a code point.

    The comparison is that of the digits in order, so of each byte it matters no more than whether
    it is below, at or above one value.
    """
    digits = []
    for block in reversed(RFC_2279.patterns[length].blocks):
        code_point, digit = divmod(code_point, len(block))
        digits.append(block.first + digit)
    return _edges(Range(digit, digit) for digit in digits)


_STRUCTURE = _edges(block for pattern in RFC_2279.patterns.values() for block in pattern.blocks)
"""Which bytes start sequences of each length, and which continue them: what masks can tell."""

_HOPWOOD = _STRUCTURE.union(
    _edges_of_bound(0x80, 2),
    *(_edges_of_bound(bound, 3) for bound in (0x800, 0xD800, 0xDC00, 0xE000, 0xFFFE)),
    *(_edges_of_bound(bound, 4) for bound in (0x10000, 0x110000)),
)

_REPLY = 'Hopwood 2001, reply to "UTF-8 validation rules"'
_EARLY = (
    "It answers TRUNCATED wherever fewer bytes are left than the first byte asks for, "
    "also where those that are left are already wrong"
)


def _hopwood(data: bytes, **flags: bool) -> Answer:
    return hopwood(data, **flags).answer


RULES = (
    Rule(
        "Table 3.1b",
        'Davis 2000, "UTF-8 and Non-Shortest Form (R2)"',
        table_3_1b,
        _edges_of_patterns(TABLE_3_1B),
        "Line 6 excludes too much after F0. No line has F1..F3 with a wrong second byte, a continuation byte "
        "where none is awaited, a sequence cut off by the end of the text, or a surrogate that is not the "
        "first of a high-low pair.",
    ),
    Rule(
        "Brown's rules",
        'Brown 2001, "UTF-8 validation rules", as quoted by Hopwood',
        lambda data: brown(data).answer,
        _STRUCTURE
        | _edges_of_patterns([BROWN_FIRST_BYTES, *(p for _, patterns in BROWN_RULES for p in patterns)])
        | _edges(Range(byte, byte) for byte in BROWN_LIMIT),
        "A second byte less than A0 is wrong after E0, not after F0; the limit should be F4 8F BF BF; U+FFFE and "
        "U+FFFF are noncharacters but well-formed, and those of the other planes pass.",
    ),
    Rule("Hopwood's converter", _REPLY, _hopwood, _HOPWOOD, f"The same texts are valid. {_EARLY}."),
    Rule(
        "Hopwood's converter, STRICT_ISO10646",
        _REPLY,
        partial(_hopwood, strict_iso10646=True),
        _HOPWOOD,
        f"It refuses U+FFFE and U+FFFF, but not the noncharacters of the other planes. {_EARLY}.",
    ),
    Rule(
        "Hopwood's converter, ALLOW_IRREGULAR",
        _REPLY,
        partial(_hopwood, allow_irregular=True),
        _HOPWOOD,
        f"It takes a surrogate pair as six bytes, and waits for the second half whatever has come of it. {_EARLY}.",
    ),
    Rule(
        "Hopwood's converter, both flags",
        _REPLY,
        partial(_hopwood, strict_iso10646=True, allow_irregular=True),
        _HOPWOOD,
        "The differences of either flag.",
    ),
)
"""The rules of the documents, in order of date; Hopwood's with each setting of his flags."""


class Direction(StrEnum):
    """How an answer differs from that of Table 3-7."""

    CONDEMNED = "condemned though well-formed"
    LET_THROUGH = "let through though ill-formed"
    CALLED_TRUNCATED = "called truncated though no byte can mend it"
    CALLED_INVALID = "called invalid though only cut off"

    @staticmethod
    def of(says: Answer, right: Answer) -> Direction:
        """The direction of a wrong answer."""
        if right is Answer.VALID:
            return Direction.CONDEMNED
        if says is Answer.VALID:
            return Direction.LET_THROUGH
        return Direction.CALLED_TRUNCATED if says is Answer.TRUNCATED else Direction.CALLED_INVALID


@dataclass(frozen=True, slots=True)
class Word:
    """Byte sequences of one length that a rule and Table 3-7 each answer alike: a product of pieces.

    Attributes:
        pieces: per position the bytes.
        says: the rule's answer to each of the sequences.
        right: that of Table 3-7.
    """

    pieces: tuple[Range, ...]
    says: Answer
    right: Answer

    @property
    def first(self) -> bytes:
        """The lexicographically least of the sequences."""
        return bytes(piece.first for piece in self.pieces)

    @property
    def count(self) -> int:
        """How many sequences it stands for."""
        return prod(map(len, self.pieces))

    def __str__(self) -> str:
        return " ".join(map(str, self.pieces))


def pieces_of(rule: Rule) -> tuple[Range, ...]:
    """All bytes in pieces that neither the rule nor Table 3-7 tells apart, in order.

    The edges are those of the rule and of the rows, and of the bit distribution too, since the
    cause of a difference is told by it.
    """
    rows = _edges(allowed for row in TABLE_3_7.rows for allowed in row.units)
    edges = sorted({0, 1 << TABLE_3_7.unit_width} | rule.edges | rows | _STRUCTURE)
    return tuple(Range(first, after - 1) for first, after in pairwise(edges))


def differing_words(rule: Rule, longest: int = 4) -> Iterator[Word]:
    """The exact set of sequences, of 1 to `longest` bytes, that the rule answers otherwise than Table 3-7.

    No sequence is in two words; words of one length come in lexicographic order. What both call
    invalid is not followed further, for both do so for good.
    """
    pieces = pieces_of(rule)
    open_ends: list[tuple[tuple[Range, ...], bytes]] = [((), b"")]
    for _ in range(longest):
        longer = []
        for (start, units), piece in product(open_ends, pieces):
            text = units + bytes([piece.first])
            says, right = rule.answer(text), table_3_7(text)
            if says is not right:
                yield Word((*start, piece), says, right)
            if not says is right is Answer.INVALID:
                longer.append(((*start, piece), text))
        open_ends = longer


@dataclass(frozen=True)
class Difference:
    """All sequences that differ in one direction.

    Attributes:
        direction: how.
        counts: how many, of 1 byte, 2 bytes and so on.
        witness: the shortest, and of those the lexicographically least.
        causes: how many by the cause of their first ill-formed item; empty for `CONDEMNED`.
        code_points: for `CONDEMNED`, the scalar values that are refused when they stand alone, in
            spans of one length of sequence.
    """

    direction: Direction
    counts: tuple[int, ...]
    witness: bytes
    causes: Mapping[ErrorKind, int]
    code_points: tuple[Range, ...]


@dataclass(frozen=True)
class Comparison:
    """A rule and all its differences from Table 3-7 up to `longest` bytes, none twice."""

    rule: Rule
    longest: int
    differences: tuple[Difference, ...]

    def in_direction(self, direction: Direction) -> Difference | None:
        """The difference in that direction, if there is one."""
        return next((found for found in self.differences if found.direction is direction), None)


@lru_cache(maxsize=32)
def compare(rule: Rule, longest: int = 4) -> Comparison:
    """A rule against Table 3-7 on all sequences of 1 to `longest` bytes.

    Raises:
        ValueError: `longest` is less than 1.
    """
    if longest < 1:
        raise InvalidArgumentError(f"sequences of up to {longest} bytes: at least 1 is needed")
    words: dict[Direction, list[Word]] = {direction: [] for direction in Direction}
    for word in differing_words(rule, longest):
        words[Direction.of(word.says, word.right)].append(word)
    return Comparison(rule, longest, tuple(_difference(d, found, longest) for d, found in words.items() if found))


def _difference(direction: Direction, words: list[Word], longest: int) -> Difference:
    counts = [0] * longest
    causes: dict[ErrorKind, int] = {}
    refused: dict[int, set[int]] = {}
    for word in words:
        counts[len(word.pieces) - 1] += word.count
        items = list(decode(word.first))
        cause = next((item.error for item in items if item.error), None)
        if cause:
            causes[cause] = causes.get(cause, 0) + word.count
        elif len(items) == 1:
            # All are well-formed, so each is an item of their text.
            text = bytes(chain.from_iterable(product(*word.pieces)))
            refused.setdefault(len(word.pieces), set()).update(item.code_point for item in decode(text))
    spans = tuple(span for length in sorted(refused) for span in _spans(refused[length]))
    by_cause = MappingProxyType(dict(sorted(causes.items())))
    return Difference(direction, tuple(counts), words[0].first, by_cause, spans)


def _spans(values: Iterable[int]) -> tuple[Range, ...]:
    spans: list[Range] = []
    for value in sorted(values):
        if spans and spans[-1].last + 1 == value:
            spans[-1] = Range(spans[-1].first, value)
        else:
            spans.append(Range(value, value))
    return tuple(spans)


def compare_documents(longest: int = 4) -> tuple[Comparison, ...]:
    """Every rule of `RULES` against Table 3-7, in that order.

    Raises:
        ValueError: `longest` is less than 1.
    """
    return tuple(compare(rule, longest) for rule in RULES)


def comparison_text(longest: int = 4) -> list[str]:
    """`compare_documents` as lines to print.

    Raises:
        ValueError: `longest` is less than 1.
    """
    lines = [f"Against Table 3-7, all sequences of 1 to {longest} bytes, each as a whole text."]
    for comparison in compare_documents(longest):
        lines += ["", f"{comparison.rule.name} ({comparison.rule.source})", f"  {comparison.rule.note}"]
        for found in comparison.differences:
            by_length = ", ".join(f"{n:,} of {k}" for k, n in enumerate(found.counts, 1) if n)
            lines.append(f"  {found.direction}: {sum(found.counts):,} ({by_length})")
            lines.append(f"    first: {found.witness.hex(' ').upper()}")
            if found.code_points:
                spans = (f"U+{span.first:04X}..U+{span.last:04X}: {len(span):,}" for span in found.code_points)
                lines.append(f"    scalar values: {'; '.join(spans)}")
            if found.causes:
                causes = (f"{cause.name} {count:,}" for cause, count in found.causes.items())
                lines.append(f"    by first cause: {', '.join(causes)}")
        if not comparison.differences:
            lines.append("  no difference")
    return lines
