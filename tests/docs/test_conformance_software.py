# SPDX-License-Identifier: BSD-2-Clause
"""The comparison of software decoders: the record is that of the current texts, and repeatable."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.site import DOCS, program
from support.suites import NAMES, read_suite
from support.tiers import tiered

FOLDER = DOCS / "conformance"
STALE = "stale: python docs/conformance/software.py"
RECORD = json.loads((FOLDER / "software.json").read_text(encoding="utf-8"))


software = program(FOLDER, "software")


def test_the_record_is_that_of_the_current_texts_and_the_page_that_of_the_record(software: ModuleType) -> None:
    assert RECORD["inputs"] == software.digest(), STALE
    page = software.PAGE.read_text(encoding="utf-8")
    assert software.with_tables(page, RECORD) == page, STALE
    for name in NAMES:
        assert f"| {len(read_suite(name).cases)} |" in next(
            line for line in page.splitlines() if line.startswith(f"| {name} ")
        )


@pytest.mark.parametrize(
    "row",
    tiered({row["decoder"]: row for row in RECORD["decoders"]}, ["Chromium, `TextDecoder`", "Rust, `from_utf8_lossy`"]),
)
def test_an_installed_decoder_has_the_recorded_results(
    row: dict[str, Any], software: ModuleType, tmp_path: Path
) -> None:
    [decoder] = [each for each in software.DECODERS if each.title == row["decoder"]]
    if not shutil.which(decoder.program):
        pytest.skip(f"{decoder.program} is not installed")
    found = software.row_of(decoder, software.inputs())
    if found["version"] != row["version"]:
        pytest.skip(f"version {row['version']} is recorded, {found['version']} is installed")
    assert found == row


TEXTS = [b"A", b"\xe1\x80A", b"\xed\xa0\x80"]


@pytest.mark.parametrize(
    ("results", "verdict", "first"),
    [
        ([[0x41], [0xFFFD, 0x41], [0xFFFD] * 3], "conforms", None),
        ([[0x41], [0xFFFD, 0xFFFD, 0x41], [0xFFFD] * 3], "conforms to each-unit", "E1 80 41"),
        ([[0x41], [0xFFFD, 0x41], [0xFFFD] * 2], "other numbers of marks", "ED A0 80"),
        ([[0x41], [0xFFFD, 0xFFFD, 0x41], [0xD800]], "accepts ill-formed text", "ED A0 80"),
        ([[0x41], [0xFFFD], [0xFFFD] * 3], "changes well-formed text", "E1 80 41"),
        ([[0xFFFD], [0xFFFD, 0x41], [0xFFFD] * 3], "changes well-formed text", "41"),
        ([None, None, None], "changes well-formed text", "41"),
    ],
)
def test_verdicts(results: list[Any], verdict: str, first: str | None, software: ModuleType) -> None:
    found = software.judged(software.Decoder("", "", lambda *_: ("", [])), TEXTS, results)
    assert (found["verdict"], found["first"] and found["first"]["bytes"]) == (verdict, first)
