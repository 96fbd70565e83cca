# SPDX-License-Identifier: BSD-2-Clause
"""Items and their counts as text."""

from __future__ import annotations

import json
from collections.abc import Iterable

from utf8fpga.model import ErrorKind, Item

__all__ = ["Tally", "json_line"]


class Tally:
    """Counts of items."""

    def __init__(self) -> None:
        self.units = 0
        self.items = 0
        self.causes = dict.fromkeys(ErrorKind, 0)

    @property
    def ill_formed(self) -> int:
        """How many items are ill-formed."""
        return sum(self.causes.values())

    def add(self, items: Iterable[Item]) -> None:
        """Count items."""
        for item in items:
            self.units += item.length
            self.items += 1
            if item.error is not None:
                self.causes[item.error] += 1

    def lines(self) -> list[str]:
        """The counts for a person to read."""
        causes = [f"  {number} {kind.name}" for kind, number in self.causes.items() if number]
        return [f"{self.units} bytes, {self.items} items, {self.ill_formed} ill-formed", *causes]


def json_line(item: Item) -> str:
    """An item as one line of JSON."""
    error = None if item.error is None else item.error.name
    return json.dumps({"offset": item.offset, "length": item.length, "code_point": item.code_point, "error": error})
