# SPDX-License-Identifier: BSD-2-Clause
"""The foreign cores of the tests, in ``tests/sim/foreign_cores``, and their reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from utf8fpga.sim import foreign_check
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import read_description
from utf8fpga.sim.report import Report, Row

FOLDER = Path(__file__).parents[1] / "sim" / "foreign_cores"

CORES = {
    "strobe": "strobe.toml",
    "validator": "validator.toml",
    "marks": "handshake.toml",
    "surrogates": "handshake.toml",
    "leaky": "handshake.toml",
}
"""By name of a core the description of its ports; the first two are correct."""


def core_of(name: str) -> ForeignCore:
    """A core."""
    return ForeignCore([FOLDER / f"{name}.v"], name, read_description(FOLDER / CORES[name]))


def variant_of(
    folder: Path, name: str, changes: Mapping[str, str], *, ports: tuple[str, str] = ("", "")
) -> ForeignCore:
    """A core with texts replaced in its file ``core.v`` in a folder, and perhaps in the description of its ports."""
    text, described = ((FOLDER / each).read_text(encoding="utf-8") for each in (f"{name}.v", CORES[name]))
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    assert ports[0] in described
    (folder / "core.v").write_text(text, encoding="utf-8")
    (folder / "ports.toml").write_text(described.replace(*ports) if ports[0] else described + ports[1])
    return ForeignCore([folder / "core.v"], None, read_description(folder / "ports.toml"))


def spelt(text: bytes) -> tuple[str, ...]:
    """What CPython decodes, in the form of a failure; in texts of which each U+FFFD is a mark."""
    return tuple("!FFFD" if point == "\ufffd" else f"{ord(point):04X}" for point in text.decode("utf-8", "replace"))


def row_of(report: Report, cause: str) -> Row:
    """The row of a report for a cause."""
    (row,) = (row for row in report.causes if row.name == cause)
    return row


_UNITS = b"\x00\x5a\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xe0\xed\xf0\xf4\xf5\xfe"


_SHORT_TEXTS = foreign_check.short_texts


def _few_texts(lanes: int) -> list[bytes]:
    texts = _SHORT_TEXTS(lanes)
    return [text for text in texts if len(text) <= 1 or (len(text) <= 3 and not text.translate(None, _UNITS))]


def use_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let checks have only texts of one byte, and of up to three of a few bytes, which saves the time of the others."""
    monkeypatch.setattr(foreign_check, "short_texts", _few_texts)
