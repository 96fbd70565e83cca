# SPDX-License-Identifier: BSD-2-Clause
"""The tiers of the tests.

``smoke`` is the tier without an option: it shows a user that everything works on this machine. ``full`` is every test
without a marker; CI runs both tiers wholly. The others have the markers in `LONGER`, and CI runs samples of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

LONGER = ("slow", "proof", "build", "exhaustive")

SMOKE = f"smoke and not ({' or '.join(LONGER)})"


@dataclass(frozen=True)
class Tier:
    """A tier that CI runs wholly.

    Attributes:
        most: upper bound on the number of its cases, which keeps it as quick as it is.
        shows: what a run has shown.
        following: the command for the next tier.
    """

    most: int
    shows: str
    following: str


TIERS = {
    SMOKE: Tier(
        500,
        "model, cores, Verilog, proofs, commands, a bitstream and a virtual board work on this machine",
        "pytest -n auto -m full",
    ),
    "full": Tier(
        2500,
        "every documented property in simulation, the smaller proofs, and every message and limit of the commands",
        "pytest -n auto -m 'slow or proof or build'",
    ),
}
"""The tiers by the expression that selects them."""


def assign_tiers(items: Sequence[pytest.Item]) -> None:
    """Add the marker ``full`` to the tests that have no marker of a tier."""
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("smoke", *LONGER)):
            item.add_marker("full")


def tiered(
    cases: Mapping[str, Any],
    every_run: Collection[str] | int,
    *,
    tier: pytest.MarkDecorator = pytest.mark.slow,
    smoke: Collection[str] = (),
) -> list[Any]:
    """The parameters of a test.

    Args:
        cases: the values by id; a tuple has a value for each argument.
        every_run: the ids of those without a marker, or the number of the first ones.
        tier: the marker of the others.
        smoke: the ids, among those, with the marker ``smoke``.
    """
    chosen = list(cases)[:every_run] if isinstance(every_run, int) else every_run
    assert set(chosen) <= set(cases), f"unknown ids: {set(chosen) - set(cases)}"
    assert set(smoke) <= set(chosen), f"not in a tier of CI: {set(smoke) - set(chosen)}"

    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [pytest.mark.smoke] if name in smoke else [] if name in chosen else [tier]

    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name, marks=marks(name))
        for name, case in cases.items()
    ]
