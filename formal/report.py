# SPDX-License-Identifier: BSD-2-Clause
"""The results of proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.model.render import markdown


@dataclass
class Result:
    """One line of the report.

    Attributes:
        configuration, wanted: the name of the configuration, and the property.
        method: how it was decided.
        depth: of a proof by reachability the frames of its invariant, of a trace its cycles; otherwise 0.
        seconds: the time that it took. One induction proves several properties: its time is that of the first.
        proved: True; False if there is a counterexample; None if it was not decided.
        note: why it was not decided.
        counterexample: the counterexample of a property that fails.
    """

    configuration: str
    wanted: str
    method: str
    depth: int
    seconds: float
    proved: bool | None
    note: str = ""
    counterexample: Counterexample | None = field(default=None, repr=False)

    @property
    def verdict(self) -> str:
        """The result in a word."""
        return {True: "proved", False: "FAILED", None: "UNDECIDED"}[self.proved] + (
            f" ({self.note})" if self.note else ""
        )

    def as_dict(self) -> dict[str, Any]:
        """The result as a dictionary, for JSON."""
        names = ("configuration", "method", "depth", "proved", "note")
        given = {name: getattr(self, name) for name in names}
        given |= {"property": self.wanted, "seconds": round(self.seconds, 1)}
        if self.counterexample:
            given["counterexample"] = self.counterexample.as_dict()
        return given


def _cell(result: Result) -> str:
    if not result.proved:
        return "not proved"
    return f"{result.seconds:.1f}" if result.seconds >= 0.05 else "yes"


def proved_table(results: Sequence[Result]) -> str:
    """A table in Markdown of core and property: the seconds of each proof, or yes for what another one includes."""
    properties = list(dict.fromkeys(result.wanted for result in results))
    rows = []
    for name, of_core in groupby(results, attrgetter("configuration")):
        cells = {result.wanted: _cell(result) for result in of_core}
        rows.append([f"`{name}`", *(cells.get(wanted, "-") for wanted in properties)])
    return markdown(["core", *properties], rows)
