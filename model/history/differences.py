# SPDX-License-Identifier: BSD-2-Clause
"""The differences between the rules of older documents and Table 3-7, as exact sets, by enumeration.

A rule is evaluated on byte sequences as whole texts. The bytes are divided into ranges, called
*pieces*, whose bytes are equivalent at any position for both the rule and Table 3-7. One sequence
of pieces therefore represents as many byte sequences as the product of the sizes of its pieces, and
the roughly 2**32 sequences of up to four bytes are covered by a few thousand evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from itertools import chain, product
from math import prod
from types import MappingProxyType

from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.history import rules
from utf8fpga.model.history.rules import Answer, Pattern
from utf8fpga.model.table import Range, pieces, runs
from utf8fpga.model.text import decode


def table_3_7(data: bytes) -> Answer:
    """The answer of Table 3-7 for a whole text: `TRUNCATED` where further bytes could make it well-formed.

    >>> table_3_7(b"\\xe1\\x80").name, table_3_7(b"\\xe0\\x80").name
    ('TRUNCATED', 'INVALID')
    """
    state = DFA.of(TABLE_3_7).after(data)
    return {START: Answer.VALID, REJECT: Answer.INVALID}.get(state, Answer.TRUNCATED)


@dataclass(frozen=True)
class Rule:
    """A rule to be compared with Table 3-7.

    Attributes:
        name: its name in the output.
        answer: the rule as a function from a whole text to an answer.
        ranges: bytes that are in the same of these ranges are equivalent for the rule at every position.
        note: a description of the differences.
    """

    name: str
    source: str
    answer: Callable[[bytes], Answer]
    ranges: tuple[Range, ...]
    note: str


def _ranges(patterns: Iterable[Pattern]) -> tuple[Range, ...]:
    return tuple(allowed for pattern in patterns for cell in pattern.cells for allowed in cell)


_STRUCTURE = tuple(block for pattern in RFC_2279.patterns.values() for block in pattern.blocks)
"""The bytes that start sequences of each length, and those that continue them."""

_BOUNDS = ((2, 0x80), *((3, bound) for bound in (0x800, 0xD800, 0xDC00, 0xE000, 0xFFFE)), (4, 0x10000), (4, 0x110000))
"""Lengths, and the code points that Hopwood compares with the payload of so many bytes.

The comparison is lexicographic, so its result depends only on whether each byte is less than, equal to or greater than
one value.
"""

_HOPWOOD = _STRUCTURE + tuple(
    Range(byte, byte) for length, bound in _BOUNDS for byte in RFC_2279.patterns[length].encode(bound)
)

_REPLY = 'Hopwood 2001, reply to "UTF-8 validation rules"'
_EARLY = (
    "It answers TRUNCATED wherever fewer bytes are left than the first byte requires, "
    "also where those that are left are already ill-formed"
)


def _hopwood(data: bytes, **flags: bool) -> Answer:
    return rules.hopwood(data, **flags).answer


RULES = (
    Rule(
        "Table 3.1b",
        'Davis 2000, "UTF-8 and Non-Shortest Form (R2)"',
        rules.table_3_1b,
        _ranges(rules.TABLE_3_1B),
        "Line 6 excludes too many bytes after F0. No line covers F1..F3 with an invalid second byte, an unexpected "
        "continuation byte, a sequence cut off by the end of the text, or a surrogate that is not the "
        "first of a high-low pair.",
    ),
    Rule(
        "Brown's rules",
        'Brown 2001, "UTF-8 validation rules", as quoted by Hopwood',
        lambda data: rules.brown(data).answer,
        _STRUCTURE
        + _ranges([rules.BROWN_FIRST_BYTES, *(p for _, patterns in rules.BROWN_RULES for p in patterns)])
        + tuple(Range(byte, byte) for byte in rules.BROWN_LIMIT),
        "A second byte less than A0 is invalid after E0, not after F0; the limit should be F4 8F BF BF; U+FFFE and "
        "U+FFFF are noncharacters but well-formed, and those of the other planes are accepted.",
    ),
    Rule("Hopwood's converter", _REPLY, _hopwood, _HOPWOOD, f"The same texts are valid. {_EARLY}."),
    Rule(
        "Hopwood's converter, STRICT_ISO10646",
        _REPLY,
        partial(_hopwood, strict_iso10646=True),
        _HOPWOOD,
        f"It rejects U+FFFE and U+FFFF, but not the noncharacters of the other planes. {_EARLY}.",
    ),
    Rule(
        "Hopwood's converter, ALLOW_IRREGULAR",
        _REPLY,
        partial(_hopwood, allow_irregular=True),
        _HOPWOOD,
        "It accepts a surrogate pair as six bytes, and answers TRUNCATED until the second half is complete, "
        f"even if that is already ill-formed. {_EARLY}.",
    ),
    Rule(
        "Hopwood's converter, both flags",
        _REPLY,
        partial(_hopwood, strict_iso10646=True, allow_irregular=True),
        _HOPWOOD,
        "The differences of either flag.",
    ),
)
"""The rules of the documents, by date; Hopwood's with each combination of its flags."""


class Direction(StrEnum):
    """The kind of difference between a rule's answer and that of Table 3-7."""

    CONDEMNED = "rejected though well-formed"
    LET_THROUGH = "accepted though ill-formed"
    CALLED_TRUNCATED = "truncated though no continuation is well-formed"
    CALLED_INVALID = "invalid though a continuation is well-formed"

    @staticmethod
    def of(says: Answer, right: Answer) -> Direction:
        """The direction of a difference; `right` is the answer of Table 3-7."""
        if right is Answer.VALID:
            return Direction.CONDEMNED
        if says is Answer.VALID:
            return Direction.LET_THROUGH
        return Direction.CALLED_TRUNCATED if says is Answer.TRUNCATED else Direction.CALLED_INVALID


@dataclass(frozen=True, slots=True)
class Word:
    """A product of pieces: byte sequences of one length with the same two answers.

    Attributes:
        pieces: the bytes at each position.
        says: the rule's answer for each of the sequences.
        right: the answer of Table 3-7 for each of them.
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
        """The number of sequences."""
        return prod(map(len, self.pieces))


def pieces_of(rule: Rule) -> tuple[Range, ...]:
    """The bytes 00..FF divided into pieces that are equivalent for both the rule and Table 3-7, ascending.

    The ranges are those of the rule, of the rows and of the bit distribution, which determines the
    cause of a difference.
    """
    rows = (allowed for row in TABLE_3_7.rows for allowed in row.units)
    return tuple(pieces([*rule.ranges, *rows, *_STRUCTURE], TABLE_3_7.unit_width))


def differing_words(rule: Rule, longest: int = 4) -> Iterator[Word]:
    """The exact set of sequences of 1 to `longest` bytes for which the rule and Table 3-7 differ.

    No sequence is in two words; words of one length are in lexicographic order. A sequence that both
    call invalid is not extended, since any extension of it is invalid for both.
    """
    parts = pieces_of(rule)
    open_ends: list[tuple[tuple[Range, ...], bytes]] = [((), b"")]
    for _ in range(longest):
        longer = []
        for (start, units), piece in product(open_ends, parts):
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
        direction: the direction of the difference.
        counts: the number of sequences of 1 byte, 2 bytes and so on.
        witness: the shortest sequence, and of those the lexicographically least.
        causes: the number of sequences by the cause of their first ill-formed item; empty for `CONDEMNED`.
        code_points: for `CONDEMNED`, the scalar values that are rejected as a text of their own, in
            spans of one length of sequence.
    """

    direction: Direction
    counts: tuple[int, ...]
    witness: bytes
    causes: Mapping[ErrorKind, int]
    code_points: tuple[Range, ...]


@dataclass(frozen=True)
class Comparison:
    """A rule and its differences from Table 3-7 up to `longest` bytes, at most one for each direction."""

    rule: Rule
    longest: int
    differences: tuple[Difference, ...]

    def in_direction(self, direction: Direction) -> Difference | None:
        """The difference in that direction, if there is one."""
        return next((found for found in self.differences if found.direction is direction), None)


@lru_cache(maxsize=32)
def compare(rule: Rule, longest: int = 4) -> Comparison:
    """Compare a rule with Table 3-7 on all sequences of 1 to `longest` bytes.

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
    rejected: dict[int, set[int]] = {}
    for word in words:
        counts[len(word.pieces) - 1] += word.count
        items = list(decode(word.first))
        cause = next((item.error for item in items if item.error), None)
        if cause:
            causes[cause] = causes.get(cause, 0) + word.count
        elif len(items) == 1:
            # All the sequences are well-formed, so each is one item of their concatenation.
            text = bytes(chain.from_iterable(product(*word.pieces)))
            rejected.setdefault(len(word.pieces), set()).update(item.code_point for item in decode(text))
    spans = tuple(span for length in sorted(rejected) for span in runs(rejected[length]))
    by_cause = MappingProxyType(dict(sorted(causes.items())))
    return Difference(direction, tuple(counts), words[0].first, by_cause, spans)


def compare_documents(longest: int = 4) -> tuple[Comparison, ...]:
    """Compare every rule of `RULES` with Table 3-7, in that order.

    Raises:
        ValueError: `longest` is less than 1.
    """
    return tuple(compare(rule, longest) for rule in RULES)


def comparison_text(longest: int = 4) -> list[str]:
    """The result of `compare_documents` as lines of text.

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
