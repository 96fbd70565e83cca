# SPDX-License-Identifier: BSD-2-Clause
"""The results of mutants."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """The result of a mutant."""

    KILLED = "killed"
    """The comparison with the golden function, or the check of the contracts, fails."""

    EQUIVALENT = "equivalent"
    """It is proved equal to the core in each cycle, for any beats that a producer may send, or proved correct."""

    TIMING = "timing"
    """The symbols are correct. Other cycles of transfers, or bits without a meaning, differ within the contract."""

    SURVIVED = "survived"
    """No run detects it. A search found an input with which the comparison fails."""

    UNDECIDED = "undecided"
    """No run detects it, and neither a proof nor such an input was found in time."""

    INVALID = "invalid"
    """No core can be made of it."""


@dataclass
class Mutant:
    """One mutant and its result.

    Attributes:
        reason: the first violation in the workload; of a mutant that survives, with the input of the search; of an
            invalid one, why.
        proof: the property that a monitor finds violated; empty if there is none, or no monitor was asked.
        apart: if a monitor rejects the mutant and the simulation does not, the lines of a counterexample.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    proof: str = ""
    apart: list[str] = field(default_factory=list)

    @property
    def simulation(self) -> str:
        """The first violation in the workload."""
        return self.reason if self.outcome is Outcome.KILLED else ""


@dataclass
class Score:
    """The results of mutants.

    Attributes:
        source: ``netlist`` or ``table``.
    """

    core: str
    source: str
    mutants: list[Mutant]
    monitored: bool

    def having(self, *outcomes: Outcome) -> list[Mutant]:
        """The mutants with one of these results."""
        return [mutant for mutant in self.mutants if mutant.outcome in outcomes]

    @property
    def counted(self) -> list[Mutant]:
        """Those that have to be detected."""
        return self.having(Outcome.KILLED, Outcome.SURVIVED, Outcome.UNDECIDED)

    @property
    def by_proof(self) -> int:
        """The number of those that a monitor rejects."""
        return sum(bool(mutant.proof) for mutant in self.counted)

    @property
    def by_simulation(self) -> int:
        """The number of those that the workload detects."""
        return len(self.having(Outcome.KILLED))

    @property
    def survivors(self) -> list[Mutant]:
        """Those that the proofs or the simulation do not detect."""
        return [each for each in self.counted if not (each.simulation and (each.proof or not self.monitored))]
