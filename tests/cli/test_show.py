# SPDX-License-Identifier: BSD-2-Clause
"""The output of `decode`: text, JSON and summary, for any text in any chunks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import utf8fpga
from support.processes import run

from utf8fpga.cli.show import PlainOutput
from utf8fpga.model import Item, decode_with
from utf8fpga.model.practices import Practice

FORMS = ["text", "json", "summary"]
by_form = pytest.mark.parametrize("form", FORMS)
by_practice = pytest.mark.parametrize("practice", Practice)


def expected(form: str, text: bytes, items: Iterable[Item], base: int = 0) -> bytes:
    """The expected output, item by item; `base` is the offset of the first byte of the text."""
    found = []
    for offset, length, point, error in items:
        name = None if error is None else error.name
        if form == "text":
            found.append(chr(point))
        elif form == "json":
            found.append(json.dumps({"offset": offset, "length": length, "code_point": point, "error": name}) + "\n")
        elif name:
            units = [f"{unit:02X}" for unit in text[offset - base : offset - base + length]]
            found.append(f"offset {offset}: {' '.join(units)} {name}\n")
    return "".join(found).encode()


def counts(items: Sequence[Item]) -> list[str]:
    kinds = sorted(item.error for item in items if item.error is not None)
    causes = [f"  {kinds.count(kind)} {kind.name}" for kind in dict.fromkeys(kinds)]
    size = sum(item.length for item in items)
    nouns = ["byte" if size == 1 else "bytes", "item" if len(items) == 1 else "items"]
    return [f"{size} {nouns[0]}, {len(items)} {nouns[1]}, {len(kinds)} ill-formed", *causes]


def written(output: PlainOutput, chunks: Iterable[bytes]) -> bytes:
    pieces = [piece for chunk in chunks for piece in output.pieces(chunk)]
    return b"".join([*pieces, *output.pieces(b"", final=True)])


def check(form: str, practice: Practice, text: bytes, edges: Sequence[int]) -> None:
    items = list(decode_with(text, practice))
    made = PlainOutput(practice, as_json=form == "json", summary=form == "summary")
    chunks = [text[first:after] for first, after in pairwise(edges)]
    assert written(made, chunks) == expected(form, text, items), chunks
    assert made.tally.lines() == counts(items)


MARKS = bytes.fromhex("41 80 E1 F0 90 F8 C3")
"""Bytes with marks that merge in all possible ways."""


@by_form
@by_practice
def test_all_short_texts(form: str, practice: Practice) -> None:
    for text in [bytes(units) for length in range(4) for units in product(MARKS, repeat=length)][::3]:
        check(form, practice, text, [0, *range(1, len(text)), len(text)])
    text = b"".join(bytes(units) for units in product(MARKS, repeat=3))
    check(form, practice, text, [0, len(text)])


@given(
    st.lists(st.sampled_from([bytes([unit]) for unit in MARKS] + ["é€😀".encode()]), max_size=30).map(b"".join),
    st.lists(st.integers(0, 40), max_size=6),
    st.sampled_from(FORMS),
    st.sampled_from(Practice),
)
def test_any_text_in_any_chunks(text: bytes, cuts: list[int], form: str, practice: Practice) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    check(form, practice, text, edges)


@by_form
@pytest.mark.parametrize(
    "practice", [Practice.MAXIMAL_SUBPARTS, Practice.WHOLE_SUBSEQUENCE, Practice.MALFORMED_SEQUENCE]
)
def test_long_texts(form: str, practice: Practice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.cli.show.TOGETHER", 64)
    text = b"a" + "é€😀".encode() * 20 + b"\xff" * 200 + b"\xfc\x80\x80\x80\x80\x80A\xf0\x90\x80" * 20
    check(form, practice, text, [0, len(text)])
    check(form, practice, text, [0, 7, 64, 65, 300, len(text)])


# The command.


LARGE = "é€😀".encode() * 15_000 + b"\xff" + b"\x80" * 5000 + b"A\xe2\x82"


def test_a_large_file_needs_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(LARGE)
    program = "import sys; sys.modules['numpy'] = None; from utf8fpga.cli.main import main; main(sys.argv[1:])"
    done = run([sys.executable, "-c", program, "decode", "--summary", path], capture_output=True, check=True)
    items = list(decode_with(LARGE, Practice.MAXIMAL_SUBPARTS))
    assert done.stdout == expected("summary", LARGE, items) + "".join(f"{line}\n" for line in counts(items)).encode()
    assert done.stderr == b""


@pytest.mark.parametrize("size", [10, None], ids=["file", "pipe"])
def test_input_is_not_read_after_the_first_error(monkeypatch: pytest.MonkeyPatch, size: int | None) -> None:
    def chunks(_path: str) -> Iterator[bytes]:
        yield b"A\xffB"
        pytest.fail("read after the first error")

    monkeypatch.setattr("utf8fpga.cli.decode.read_chunks", chunks)
    monkeypatch.setattr("utf8fpga.cli.decode.file_size", lambda _path: size)
    done = utf8fpga("decode", "--summary", "--practice", "first-error")
    assert done.stdout == b"offset 1: FF INVALID_BYTE\n2 bytes, 2 items, 1 ill-formed\n  1 INVALID_BYTE\n"
