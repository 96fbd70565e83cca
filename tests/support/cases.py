# SPDX-License-Identifier: BSD-2-Clause
"""Cases of a test as a table."""

from __future__ import annotations

from typing import Any

import pytest


def cases(table: str) -> list[Any]:
    """One case for each line: its id, then its arguments, all of them texts between bars."""
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [pytest.param(*arguments, id=name.replace(" ", "_")) for name, *arguments in rows]
