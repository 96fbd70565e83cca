# SPDX-License-Identifier: BSD-2-Clause
"""Public suites of UTF-8 decoders: every case has the result that the suite expects, whole and in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest
from support.suites import NAMES, Case, Suite, read_suite

from utf8fpga.model import Decoder, Item, decode, is_well_formed

SUITES = {name: read_suite(name) for name in NAMES}

pytestmark = [pytest.mark.smoke, pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)]


def code_points(items: Iterable[Item]) -> list[int]:
    return [item.code_point for item in items]


def in_chunks(practice: str, chunks: Sequence[bytes]) -> list[list[Item]]:
    decoder = Decoder(practice=practice)
    return [decoder.decode(chunk, final=number == len(chunks)) for number, chunk in enumerate(chunks, 1)]


def assert_only(suite: Suite, agrees: Callable[[Case], bool]) -> None:
    """Check that the model agrees in all cases but those with a reason in the suite's file."""
    assert [case.name for case in suite.cases if not agrees(case)] == list(suite.differs)


def test_every_case_has_the_expected_code_points(suite: Suite) -> None:
    assert len(suite.cases) > 50

    def agrees(case: Case) -> bool:
        items = list(decode(case.units, practice=suite.practice))
        if case.skipped is not None and code_points(item for item in items if not item.error) != case.skipped:
            return False
        if case.expected is None:
            return not is_well_formed(case.units) and any(item.error for item in items)
        marks = [item.error is not None for item in items]
        return code_points(items) == case.code_points and any(marks) != is_well_formed(case.units)

    assert_only(suite, agrees)


def test_chunks_return_the_code_points_that_the_suite_expects_of_each(suite: Suite) -> None:
    def agrees(case: Case) -> bool:
        found = [code_points(items) for items in in_chunks(suite.practice, case.chunks)]
        return case.expected is None or len(case.expected) < len(found) or found == case.expected

    assert_only(suite, agrees)
