# SPDX-License-Identifier: BSD-2-Clause
"""Byte order marks at a transcoder: what is removed, and which byte order is selected, as by CPython's codecs."""

from __future__ import annotations

import codecs
import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiers import tiered
from support.transcoders import check

from utf8fpga.hdl import TranscoderParameters
from utf8fpga.sim import Simulation
from utf8fpga.sim.strategies import stream_patterns

FACE = "\U0001f600"

CASES: dict[str, dict[str, Any]] = {
    "8-16": {"to": "utf-16-le", "pipeline": 0, "bom": "remove"},
    "8-16-pipelined": {"to": "utf-16-le", "bom": "remove"},
    "8-8-2-sparse": {"lanes": 2, "packed": False, "bom": "remove"},
    "8-16-3-sparse": {"to": "utf-16-le", "lanes": 3, "packed": False, "bom": "remove"},
    "8-16-4": {"to": "utf-16-le", "lanes": 4, "bom": "remove"},
    "8-16-4-sparse": {"to": "utf-16-le", "lanes": 4, "packed": False, "bom": "remove"},
    "8-8-4": {"lanes": 4, "bom": "remove"},
    "8-8-5-narrow": {"lanes": 5, "narrow": True, "bom": "remove"},
    "8-32-8": {"to": "utf-32-be", "lanes": 8, "bom": "remove"},
    "16le-8-4": {"from_": "utf-16-le", "lanes": 4, "bom": "remove"},
    "16be-8": {"from_": "utf-16-be", "bom": "detect"},
    "16le-8": {"from_": "utf-16-le", "bom": "detect"},
    "16be-8-2-sparse": {"from_": "utf-16-be", "lanes": 2, "packed": False, "bom": "detect"},
    "16be-8-4": {"from_": "utf-16-be", "lanes": 4, "bom": "detect"},
    "16be-16-3": {"from_": "utf-16-be", "to": "utf-16-le", "lanes": 3, "bom": "detect"},
    "32be-8": {"from_": "utf-32-be", "bom": "detect"},
    "32le-16-3": {"from_": "utf-32-le", "to": "utf-16-be", "lanes": 3, "bom": "detect"},
    "32le-8-2-remove": {"from_": "utf-32-le", "lanes": 2, "bom": "remove"},
    "8-8-8-wide": {"lanes": 8, "bom": "remove"},
}
QUICK = ["8-16", "16be-8", "8-8-2-sparse"]


def decoded_by_cpython(data: bytes, source: str, bom: str) -> str:
    """A text without its mark, by the codecs that remove it, with U+FFFD for what is ill-formed."""
    if source == "utf-8":
        return data.decode("utf-8-sig", "replace")
    if bom == "detect":
        name = source[:6]
        for mark, order in ((f"BOM_{name[:3].upper()}{name[4:]}_{end.upper()}", end) for end in ("le", "be")):
            if data.startswith(getattr(codecs, mark.replace("-", ""))):
                # The codec without an order in its name chooses the order of the mark, and removes it.
                text = data.decode(name, "replace")
                assert text == data.decode(f"{name}-{order}", "replace").removeprefix("\ufeff")
                return text
    return data.decode(source, "replace").removeprefix("\ufeff")


def decoded_by(case: dict[str, Any]) -> Callable[[bytes], str]:
    return lambda text: decoded_by_cpython(text, case.get("from_", "utf-8"), case["bom"])


def pieces(source: str, bom: str) -> list[bytes]:
    """Marks in each byte order, complete or not, and what may follow them."""
    if source == "utf-8":
        marks = [codecs.BOM_UTF8, b"\xef\xbb", b"\xef", b"\xbb\xbf", b"\xbf", codecs.BOM_UTF16_LE]
        return [*marks, b"A", b"\xff", "é".encode(), FACE.encode(), FACE.encode()[:3], b""]
    # U+FFFE read in the other order is the mark.
    names = [source] if bom == "remove" else [f"{source[:6]}-le", f"{source[:6]}-be"]
    return [text.encode(name) for name in names for text in ("\ufeff", "A", "é", FACE, "\ufffe", "")]


@pytest.mark.parametrize("name", tiered({each: each for each in CASES}, QUICK))
def test_only_a_mark_at_the_beginning_of_a_packet_is_removed(name: str) -> None:
    case = CASES[name]
    parts = pieces(case.get("from_", "utf-8"), case["bom"])
    texts = [b"".join(each) for each in product(parts, repeat=2)]
    texts += [one + b"".join(random.Random(name).choices(parts, k=7)) for one in parts]
    for pauses in ((False,), (False, True, True)):
        # Packets follow each other without a gap, so nothing may remain of the packet before.
        check(case, texts, decoded_by(case), output_pauses=pauses)


@pytest.mark.parametrize("name", tiered({each: each for each in CASES}, 0))
@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=30)
def test_packets_with_marks_and_any_pauses(name: str, data: st.DataObject, patterns: dict[str, list[bool]]) -> None:
    case = CASES[name]
    parts = st.sampled_from(pieces(case.get("from_", "utf-8"), case["bom"]))
    texts = data.draw(st.lists(st.lists(parts, max_size=6).map(b"".join), max_size=5))
    check(case, texts, decoded_by(case), **patterns)


def test_without_the_option_a_mark_is_a_character() -> None:
    parameters = TranscoderParameters(to="utf-16-le")
    (found,) = Simulation(parameters.build()).run([codecs.BOM_UTF8 + b"A"]).texts
    assert [unit.value for unit in found] == [0xFEFF, 0x41]
    assert parameters.bom == "keep"


def test_a_golden_function_in_parts_is_that_of_the_whole() -> None:
    golden = TranscoderParameters(bom="remove").golden()
    parts = [golden.process([unit]) for unit in codecs.BOM_UTF8 + b"A" + codecs.BOM_UTF8]
    assert [[unit.value for unit in part] for part in parts] == [[], [], [], [0x41], [], [], list(codecs.BOM_UTF8)]
    # The unit after a removed mark stands for it, too.
    assert parts[3][0].length == 4
    assert golden.process([], final=True) == []
    assert golden.process(codecs.BOM_UTF8, final=True) == []
    # A packet of a mark alone has no unit that stands for it, and none of the next packet does.
    assert golden.process(b"A", final=True)[0].length == 1
