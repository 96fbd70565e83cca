# SPDX-License-Identifier: BSD-2-Clause
"""The output of `decode`: text, JSON and summary, for any text and practice, in any parts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import utf8fpga
from support.processes import run

from utf8fpga.model import Item, decode
from utf8fpga.model.practices import Practice

FORMS: dict[str, list[str]] = {"text": [], "json": ["--json"], "summary": ["--summary"]}


def expected(form: str, text: bytes, practice: Practice = Practice.MAXIMAL_SUBPARTS) -> bytes:
    """The expected output, item by item."""
    items = list(decode(text, practice=practice))
    found = []
    for offset, length, point, error in items:
        name = None if error is None else error.name
        if form == "text":
            found.append(chr(point))
        elif form == "json":
            found.append(json.dumps({"offset": offset, "length": length, "code_point": point, "error": name}) + "\n")
        elif name:
            units = [f"{unit:02X}" for unit in text[offset : offset + length]]
            found.append(f"offset {offset}: {' '.join(units)} {name}\n")
    return "".join([*found, *(counts(items) if form == "summary" else [])]).encode()


def counts(items: Sequence[Item]) -> list[str]:
    kinds = sorted(item.error for item in items if item.error is not None)
    causes = [f"  {kinds.count(kind)} {kind.name}\n" for kind in dict.fromkeys(kinds)]
    size = sum(item.length for item in items)
    nouns = ["byte" if size == 1 else "bytes", "item" if len(items) == 1 else "items"]
    return [f"{size} {nouns[0]}, {len(items)} {nouns[1]}, {len(kinds)} ill-formed\n", *causes]


MARKS = bytes.fromhex("41 80 E1 F0 90 F8 C3")
"""Bytes with marks that merge in all possible ways."""

EVERY = b"".join(bytes(units) for units in product(MARKS, repeat=3))
LONG = b"a" + "é€😀".encode() * 20 + b"\xff" * 200 + b"\xfc\x80\x80\x80\x80\x80A\xf0\x90\x80" * 20


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("practice", Practice)
@pytest.mark.parametrize("together", [1, 7, 64, 1 << 14])
def test_any_practice_in_any_parts(
    form: str, practice: Practice, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("utf8fpga.cli.decode.TOGETHER", together)
    for text in (EVERY, LONG, LONG[:-1], b""):
        done = utf8fpga("decode", *FORMS[form], "--practice", practice, data=text)
        assert done.stdout == expected(form, text, practice)


@given(st.lists(st.sampled_from([bytes([unit]) for unit in MARKS] + ["é€😀".encode()]), max_size=30).map(b"".join))
def test_any_text(text: bytes) -> None:
    for form, words in FORMS.items():
        assert utf8fpga("decode", *words, data=text).stdout == expected(form, text)


def test_a_large_file_needs_no_numpy(tmp_path: Path) -> None:
    path, large = tmp_path / "large.txt", "é€😀".encode() * 15_000 + b"\xff" + b"\x80" * 5000 + b"A\xe2\x82"
    path.write_bytes(large)
    program = "import sys; sys.modules['numpy'] = None; from utf8fpga.cli.main import main; main(sys.argv[1:])"
    done = run([sys.executable, "-c", program, "decode", "--summary", path], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (expected("summary", large), b"")
