# SPDX-License-Identifier: BSD-2-Clause
"""Parameters of cores with each value of each option."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from utf8fpga.hdl import CoreParameters
from utf8fpga.model import CATALOGUE, InvalidArgumentError


def variants(kind: type[CoreParameters]) -> Iterator[CoreParameters]:
    """The default core of a kind, and for each value of each option a core with it, with few others."""
    yield kind()
    for name, how in kind.options().items():
        if how.range:
            low, high = how.range
            values: list[Any] = [low, low + 1, 3, 4] if high is None or high > 4 else [low, high]
        else:
            values = list(how.choices) or [True, False]
        for value in values:
            for others in ({}, {"lanes": 2}, {"lanes": 4}):
                with suppress(InvalidArgumentError, TypeError):
                    chosen = CATALOGUE[value] if name == "table" else value
                    found = kind(**{**others, name: chosen})
                    if getattr(found, name) == chosen:
                        yield found
                        break
