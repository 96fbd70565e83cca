# SPDX-License-Identifier: BSD-2-Clause
"""The output of `decode`: text, JSON and summary, of the plain and the array decoder, for any text in any chunks."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import utf8fpga
from support.processes import run

from utf8fpga.cli.decode import output_for
from utf8fpga.cli.show import PlainOutput
from utf8fpga.model import Item, decode_with
from utf8fpga.model.practices import Practice

try:
    from utf8fpga.cli.bulk import ArrayOutput
    from utf8fpga.model.arrays import ArrayDecoder
except ModuleNotFoundError:
    ArrayOutput = None

needs_numpy = pytest.mark.skipif(ArrayOutput is None, reason="requires the extra 'arrays'")
FORMS = ["text", "json", "summary"]
by_output = pytest.mark.parametrize(
    "output", [PlainOutput, pytest.param(ArrayOutput, marks=needs_numpy)], ids=["plain", "arrays"]
)
by_form = pytest.mark.parametrize("form", FORMS)
by_practice = pytest.mark.parametrize("practice", Practice)

Output = Callable[[str, Practice], PlainOutput]


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


def check(output: Output, form: str, practice: Practice, text: bytes, edges: Sequence[int]) -> None:
    items = list(decode_with(text, practice))
    made = output(form, practice)
    chunks = [text[first:after] for first, after in pairwise(edges)]
    assert written(made, chunks) == expected(form, text, items), chunks
    assert made.tally.lines() == counts(items)


MARKS = bytes.fromhex("41 80 E1 F0 90 F8 C3")
"""Bytes with marks that merge in all possible ways."""


@by_output
@by_form
@by_practice
def test_all_short_texts(output: Output, form: str, practice: Practice) -> None:
    for text in [bytes(units) for length in range(4) for units in product(MARKS, repeat=length)][::3]:
        check(output, form, practice, text, [0, *range(1, len(text)), len(text)])
    text = b"".join(bytes(units) for units in product(MARKS, repeat=3))
    check(output, form, practice, text, [0, len(text)])


@given(
    st.lists(st.sampled_from([bytes([unit]) for unit in MARKS] + ["é€😀".encode()]), max_size=30).map(b"".join),
    st.lists(st.integers(0, 40), max_size=6),
    st.sampled_from(FORMS),
    st.sampled_from(Practice),
)
def test_any_text_in_any_chunks(text: bytes, cuts: list[int], form: str, practice: Practice) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    check(PlainOutput, form, practice, text, edges)
    if ArrayOutput:
        check(ArrayOutput, form, practice, text, edges)


@by_output
@by_form
@pytest.mark.parametrize(
    "practice", [Practice.MAXIMAL_SUBPARTS, Practice.WHOLE_SUBSEQUENCE, Practice.MALFORMED_SEQUENCE]
)
def test_long_texts(output: Output, form: str, practice: Practice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.cli.show.TOGETHER", 64)
    if ArrayOutput:
        monkeypatch.setattr("utf8fpga.cli.bulk.LINES", 64)
    text = b"a" + "é€😀".encode() * 20 + b"\xff" * 200 + b"\xfc\x80\x80\x80\x80\x80A\xf0\x90\x80" * 20
    check(output, form, practice, text, [0, len(text)])
    check(output, form, practice, text, [0, 7, 64, 65, 300, len(text)])


@needs_numpy
@by_form
@pytest.mark.parametrize("practice", [Practice.MAXIMAL_SUBPARTS, Practice.WHOLE_SUBSEQUENCE])
@pytest.mark.parametrize("offset", [(1 << 31) - 2, (1 << 32) - 2, 10**10 - 2, 1 << 40], ids=hex)
def test_offsets_beyond_32_bits(form: str, practice: Practice, offset: int) -> None:
    if form == "json":
        practice = Practice.MAXIMAL_SUBPARTS  # In JSON, the decoder of the practice merges the marks.
    text = b"A\xff\xffB\xe2\x82\xffC"
    items = [item._replace(offset=item.offset + offset) for item in decode_with(text, practice)]
    for edges in ([0, 8], [0, 2, 5, 6, 8]):
        decoder = ArrayDecoder()
        decoder._offset = offset  # As after a text of that length.
        made = ArrayOutput(form, practice, decoder)
        chunks = [text[first:after] for first, after in pairwise(edges)]
        assert written(made, chunks) == expected(form, text, items, offset)
        assert made.tally.lines() == counts(items)


@needs_numpy
@by_form
@pytest.mark.parametrize("practice", [Practice.MAXIMAL_SUBPARTS, Practice.WHOLE_SUBSEQUENCE])
def test_memory_does_not_grow_with_the_text(form: str, practice: Practice) -> None:
    """1 MiB of marks; merged into one, its line in a summary has 3 MiB."""
    made = ArrayOutput(form, practice)
    chunk = b"\x80" * (1 << 14)
    written(made, [chunk])
    tracemalloc.start()
    try:
        size = sum(len(piece) for _ in range(64) for piece in made.pieces(chunk))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size >= 3 << 20 or practice is Practice.WHOLE_SUBSEQUENCE
    assert peak < 400 * len(chunk)


# The command.


@needs_numpy
@pytest.mark.parametrize("size", [0, 1000, 1_000_000])
def test_arrays_are_used_for_long_texts(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pipe, too, whose size is not known."""
    made = []

    def chosen(form: str, practice: Practice, *, is_long: bool) -> PlainOutput | ArrayOutput:
        made.append(output_for(form, practice, is_long=is_long))
        return made[-1]

    monkeypatch.setattr("utf8fpga.cli.decode.output_for", chosen)
    (tmp_path / "text").write_bytes(bytes(size))
    os.mkfifo(tmp_path / "pipe")
    for name in ("text", "pipe"):
        writer = Thread(target=(tmp_path / "pipe").write_bytes, args=[bytes(size)], daemon=True)
        if name == "pipe":
            writer.start()
        assert utf8fpga("decode", tmp_path / name).stdout == bytes(size)
    assert [type(each) for each in made] == [ArrayOutput if size == 1_000_000 else PlainOutput] * 2


LARGE = "é€😀".encode() * 15_000 + b"\xff" + b"\x80" * 5000 + b"A\xe2\x82"


def test_a_large_file_without_numpy(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(LARGE)
    program = "import sys; sys.modules['numpy'] = None; from utf8fpga.cli.main import main; main(sys.argv[1:])"
    done = run([sys.executable, "-c", program, "decode", "--summary", path], capture_output=True, check=True)
    items = list(decode_with(LARGE, Practice.MAXIMAL_SUBPARTS))
    assert done.stdout == expected("summary", LARGE, items) + "".join(f"{line}\n" for line in counts(items)).encode()
    assert done.stderr == b""


@pytest.mark.parametrize("size", [10, None], ids=["plain", "arrays"])
def test_input_is_not_read_after_the_first_error(monkeypatch: pytest.MonkeyPatch, size: int | None) -> None:
    def chunks(_path: str) -> Iterator[bytes]:
        yield b"A\xffB"
        pytest.fail("read after the first error")

    monkeypatch.setattr("utf8fpga.cli.decode.read_chunks", chunks)
    monkeypatch.setattr("utf8fpga.cli.decode.file_size", lambda _path: size)
    done = utf8fpga("decode", "--summary", "--practice", "first-error")
    assert done.stdout == b"offset 1: FF INVALID_BYTE\n2 bytes, 2 items, 1 ill-formed\n  1 INVALID_BYTE\n"
