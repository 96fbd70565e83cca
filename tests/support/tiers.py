# SPDX-License-Identifier: BSD-2-Clause
"""Parameters of tests, of which some run in every run and the others in a longer tier."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

__all__ = ["tiered"]


def tiered(
    cases: Mapping[str, Any],
    every_run: Collection[str] | int,
    *,
    tier: pytest.MarkDecorator = pytest.mark.slow,
) -> list[Any]:
    """The parameters of a test.

    Args:
        cases: the values by id; a tuple has a value for each argument.
        every_run: the ids of those that run in every run, or the number of the first ones that do.
        tier: the marker of the others.
    """
    chosen = list(cases)[:every_run] if isinstance(every_run, int) else every_run
    assert set(chosen) <= set(cases), f"unknown ids: {set(chosen) - set(cases)}"
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name, marks=[] if name in chosen else [tier])
        for name, case in cases.items()
    ]
