# SPDX-License-Identifier: BSD-2-Clause
"""The rows of the report of a check while it is made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from utf8fpga.sim.judgement import Output, Run
from utf8fpga.sim.report import ENDS, Defect, Finding, Row


class Tally:
    """The rows of a report while it is made."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._counts: dict[str, int] = defaultdict(int)
        self._failed: dict[str, int] = defaultdict(int)
        self._shortest: dict[str, Run] = {}
        """By cause the shortest run that differs."""
        self._not_checked: dict[str, str] = {}
        self._defects: dict[Defect, Run] = {}

    def note(self, defect: Defect, run: Run) -> None:
        """Record a defect and the run that shows it, if there is none shorter."""
        if defect not in self._defects or run.size < self._defects[defect].size:
            self._defects[defect] = run

    def findings(self) -> Iterator[Finding]:
        for defect in Defect:
            if found := self._defects.get(defect):
                yield Finding(defect, self._output.failure(found))

    def judge(self, run: Run) -> bool:
        """Whether the words of a run are correct; the ends of its texts then count with their own cause."""
        is_correct, has_ends = self._output.judge(run)
        if is_correct and self._output.has_last:
            self.add(ENDS, None if has_ends else run)
            if not has_ends:
                self.note(Defect.END, run)
        return is_correct

    def add(self, cause: str, failed: Run | None) -> None:
        """Count a run, which is given if it differs."""
        self._counts[cause] += 1
        if failed:
            self._failed[cause] += 1
            self.prefer(cause, failed)

    def prefer(self, cause: str, failed: Run) -> None:
        """Replace the shortest run of a cause that differs, if there is none shorter."""
        if cause not in self._shortest or failed.size < self._shortest[cause].size:
            self._shortest[cause] = failed

    def skip(self, cause: str, reason: str) -> None:
        """State why there is no run for a cause, if there is none."""
        self._not_checked[cause] = reason

    def rows(self, causes: Iterable[str]) -> Iterator[Row]:
        """The rows of these causes."""
        for cause in causes:
            count = self._counts[cause]
            reason = (
                "" if count else self._not_checked.get(cause, "each of its texts contains a shorter one that differs")
            )
            found = self._shortest.get(cause)
            yield Row(cause, count, self._failed[cause], found and self._output.failure(found), reason)
