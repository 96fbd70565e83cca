# SPDX-License-Identifier: BSD-2-Clause
"""The results of proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.properties import Property
from utf8fpga.model.render import markdown


@dataclass
class Result:
    """One line of the report.

    Attributes:
        configuration, wanted: the name of the configuration, and the property.
        method: how it was decided.
        depth: of a proof by reachability the frames of its invariant, of a trace its cycles; otherwise 0.
        proved: True; False if there is a counterexample or, for a cover, no trace; None if it was not decided.
        note: a detail, such as the name of a cover.
        parts: the names of the components that are proved separately. Components of the same name are the same, and
            are proved once in a run.
        counterexample: the counterexample of a property that fails.
        processor: the processor time of all results of a property, in seconds, in the first of them; otherwise 0.
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
    processor: float = 0.0

    @property
    def verdict(self) -> str:
        """The result in a word."""
        good, bad = ("reached", "unreachable") if self.wanted == Property.COVER else ("proved", "FAILED")
        about = ", ".join([*filter(None, [self.note]), *self.parts])
        return {True: good, False: bad, None: "UNDECIDED"}[self.proved] + (f" ({about})" if about else "")

    def as_dict(self) -> dict[str, Any]:
        """The result as a dictionary, for JSON."""
        names = ("configuration", "method", "depth", "proved", "note", "parts")
        given = {name: getattr(self, name) for name in names}
        given |= {"property": self.wanted, "seconds": round(self.seconds, 1), "processor": round(self.processor, 1)}
        if self.counterexample:
            given["counterexample"] = self.counterexample.as_dict()
        return given


def proved_table(results: Sequence[Result]) -> str:
    """A table in Markdown of the properties that are proved of each core, with the seconds of processor time."""
    rows = []
    for name, of_core in groupby(results, attrgetter("configuration")):
        proved, left = [], []
        for wanted, group in groupby(of_core, attrgetter("wanted")):
            each = list(group)
            if all(result.proved for result in each):
                proved.append(f"`{wanted}` {sum(result.processor for result in each):.1f}")
            else:
                left.append(f"`{wanted}`")
        rows.append([f"`{name}`", ", ".join(proved) or "-", ", ".join(left) or "-"])
    return markdown(["core", "proved, with seconds", "not proved"], rows)
