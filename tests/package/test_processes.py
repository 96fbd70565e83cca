# SPDX-License-Identifier: BSD-2-Clause
"""Tests start processes with the helpers in `support/processes.py`."""

from __future__ import annotations

import re
from pathlib import Path


def test_all_tests_start_processes_with_this_module() -> None:
    direct = re.compile(r"subprocess\.(run|Popen|call|check_call|check_output)\(|os\.(system|popen|fork|spawn\w*)\(")
    own = {"processes.py", "test_processes.py"}
    found = {
        f"{path.name}:{number}"
        for path in Path(__file__).parents[1].rglob("*.py")
        if path.name not in own
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if direct.search(text)
    }
    assert found == set()
