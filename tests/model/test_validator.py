# SPDX-License-Identifier: BSD-2-Clause
"""The golden validator against CPython's codecs, exhaustively over short texts."""

from __future__ import annotations

from itertools import product

import pytest
from support.oracle import BOUNDARY, REPRESENTATIVES, report_of

from utf8fpga.model import MODIFIED_UTF_8_CODE_UNITS, ErrorKind, validate, validator
from utf8fpga.model.validator import GoldenValidator

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(("members", "length"), [*product([BOUNDARY], range(4)), (REPRESENTATIVES, 4)])
def test_reports_of_all_texts_of_some_bytes_are_those_of_cpython(members: bytes, length: int) -> None:
    for units in product(members, repeat=length):
        assert validate(bytes(units)) == report_of(bytes(units)), bytes(units)


def test_numbers_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "COUNTER_WIDTH", 4)
    assert validate(b"a" * 15 + b"\xff") == (False, 15, ErrorKind.INVALID_BYTE, 1, 15, 15)
    assert validate(b"a" * 14)[3:] == (0, 14, 14)
    assert validate(b"a" * 90 + b"\xff" * 20) == (False, 15, ErrorKind.INVALID_BYTE, 15, 15, 15)


def test_parts_of_a_text_give_the_report_of_the_text() -> None:
    validator = GoldenValidator()
    for text in (b"a\xf0\x9f\x98\x80\xe2\x82A\xff\xc3", "\U0001f600é".encode(), b""):
        for place in range(len(text)):
            assert validator.process(text[place : place + 1]) == []
        assert validator.process(b"", final=True) == [(len(text), report_of(text))]


def test_another_table_has_its_own_rules() -> None:
    assert validate(b"\xc0\x80", MODIFIED_UTF_8_CODE_UNITS).well_formed
    assert not validate(b"\xc0\x80").well_formed
