# SPDX-License-Identifier: BSD-2-Clause
"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("model", "hdl", "sim", "formal", "bench", "boards", "cli", "package")
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if re.search(r"^ *>>> ", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.smoke
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples(path: Path) -> None:
    if path == ROOT / "model" / "arrays.py":
        pytest.importorskip("numba", reason="requires the extra 'fast'")
    words = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(["utf8fpga", *words]).replace(".package", "").removesuffix(".__init__"))
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
