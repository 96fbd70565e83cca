# SPDX-License-Identifier: BSD-2-Clause
"""What came of a proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.properties import Property

__all__ = ["Result"]


@dataclass
class Result:
    """One line of the report.

    Attributes:
        configuration, wanted: which.
        method: how it was decided.
        depth: of a proof by reachability the frames of its invariant, of a trace its clocks; 0 where neither.
        seconds: how long it took.
        proved: True; False: there is a counterexample or, of a cover, no trace; None: not decided.
        note: what else there is to say in a word.
        parts: the components that are proved by themselves; what has the same name is the same component, and is
            proved once in a run.
        counterexample: of a property that fails.
    """

    configuration: str
    wanted: str
    method: str
    depth: int
    seconds: float
    proved: bool | None
    note: str = ""
    parts: tuple[str, ...] = ()
    counterexample: Counterexample | None = field(default=None, repr=False)

    @property
    def verdict(self) -> str:
        """The result in a word."""
        good, bad = ("reached", "unreachable") if self.wanted == Property.COVER else ("proved", "FAILED")
        about = ", ".join([*([self.note] if self.note else []), *self.parts])
        return {True: good, False: bad, None: "UNDECIDED"}[self.proved] + (f" ({about})" if about else "")

    def as_dict(self) -> dict[str, Any]:
        """For a program to read."""
        names = ("configuration", "method", "depth", "proved", "note", "parts")
        given = {name: getattr(self, name) for name in names}
        given |= {"property": self.wanted, "seconds": round(self.seconds, 1)}
        if self.counterexample:
            given["counterexample"] = self.counterexample.as_dict()
        return given
