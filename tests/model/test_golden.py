# SPDX-License-Identifier: BSD-2-Clause
"""Golden functions: packets in parts give what whole packets give."""

from __future__ import annotations

import pytest

from utf8fpga.model import IncrementalDecoder
from utf8fpga.model.golden import FiniteGolden, GoldenDecoder

pytestmark = pytest.mark.smoke

TEXT = b"a\xf0\x9f\x98\x80\xe2\x82A\xff\xc3"


def test_a_decoder_in_parts_gives_cpythons_text_and_begins_anew() -> None:
    decoder = GoldenDecoder(IncrementalDecoder())
    for _ in range(2):
        items = [item for place in range(len(TEXT)) for item in decoder.process(TEXT[place : place + 1])]
        items += decoder.process(b"", final=True)
        assert "".join(chr(item.code_point) for item in items) == TEXT.decode("utf-8", "replace")
        assert sum(item.length for item in items) == len(TEXT)
        assert items[0].offset == 0


def test_a_decoder_has_too_many_states_to_enumerate() -> None:
    assert not isinstance(GoldenDecoder(IncrementalDecoder()), FiniteGolden)
