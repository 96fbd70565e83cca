# SPDX-License-Identifier: BSD-2-Clause
"""A trace of a proof in terms of text: the input, the expected items and the items of the decoder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import utf8fpga.hdl as hdl
import utf8fpga.model as model
from utf8fpga.hdl import CORES, CoreEntry, Word, entry_of, parameters_of
from utf8fpga.model import EncodingTable, forms, spell
from utf8fpga.model.render import counted
from utf8fpga.sim.beats import Beat, ContractError, beat_of, symbol_width
from utf8fpga.sim.harness import Property
from utf8fpga.sim.simulation import Simulation
from utf8fpga.sim.waveform import write_cycles


@dataclass
class Counterexample:
    """A trace, and the result of its replay in simulation.

    Attributes:
        cycles: per cycle the values of the ports.
        texts: the units of each text since the last reset; the last one may be incomplete.
        input_pauses: per cycle since then, whether the input was not valid.
        output_pauses: per cycle since then, whether the consumer was not ready.
        separate_ends: per text, whether it ended with a beat of its own.
        null_beats: per beat that was accepted, whether it was a null beat.
        given: per text the items of the decoder.
        expected: per text the items of the golden model; of an incomplete text those that are determined.
        reproduced: the failure of the ordinary simulation of the same texts and pauses; empty if it does not fail.
    """

    configuration: str
    call: str
    wanted: Property
    cycles: list[dict[str, int]]
    unit_width: int
    texts: list[tuple[int, ...]] = field(default_factory=list)
    input_pauses: list[bool] = field(default_factory=list)
    output_pauses: list[bool] = field(default_factory=list)
    separate_ends: list[bool] = field(default_factory=list)
    null_beats: list[bool] = field(default_factory=list)
    given: list[list[Any]] = field(default_factory=list)
    expected: list[list[Any]] = field(default_factory=list)
    reproduced: str = ""

    @staticmethod
    def of(configuration: Any, wanted: Property, cycles: list[dict[str, int]]) -> Counterexample:
        """Read a trace of the core that `configuration` builds, with a cycle after the violation."""
        core = configuration.build()
        simulation = Simulation(core, compared_with(core, configuration.right))
        found = Counterexample(configuration.name, configuration.call, wanted, cycles, symbol_width(core))
        found._read(simulation, cycles[:-1] or cycles)
        found._replay(simulation)
        return found

    def _read(self, simulation: Simulation, cycles: Sequence[dict[str, int]]) -> None:
        start = max((n + 1 for n, cycle in enumerate(cycles) if cycle["see_reset"]), default=0)
        since = cycles[start:]
        self.input_pauses = [not cycle["see_in_valid"] for cycle in since]
        self.output_pauses = [not cycle["see_out_ready"] for cycle in since]
        beats: list[Beat] = []
        waiting: Beat | None = None
        for cycle in since:
            beat = beat_of(simulation.core, cycle["see_in_payload"]) if cycle["see_in_valid"] else None
            waiting = None if cycle["see_in_ready"] else beat
            if beat and not waiting:
                beats.append(beat)
        complete = self._read_texts(beats, waiting)
        self.given.append([])
        for cycle in since:
            if cycle["see_out_valid"] and cycle["see_out_ready"]:
                self._give(simulation, cycle["see_out_payload"])
        if not self.given[-1]:
            self.given.pop()
        self._expect(simulation, complete)

    def _read_texts(self, beats: Sequence[Beat], waiting: Beat | None) -> int:
        """Read the texts of the beats that were accepted, and one that waits; returns how many texts are complete."""
        text: list[int] = []
        inside = False
        for slots, last in beats:
            units = [slot for slot in slots if slot is not None]
            text += units
            self.null_beats.append(not units and not last)
            inside = not last and (inside or bool(units))
            if last:
                self.texts.append(tuple(text))
                self.separate_ends.append(not units)
                text = []
        complete = len(self.texts)
        if inside or waiting:
            # A beat that waits may have `last`, with or without a unit; otherwise the end follows the trace.
            slots, last = waiting or ((), False)
            units = [slot for slot in slots if slot is not None]
            self.texts.append((*text, *units))
            self.separate_ends.append(not last or not units)
        return complete

    def _expect(self, simulation: Simulation, complete: int) -> None:
        """The items of the golden function, of which the first texts are complete."""
        for number, text in enumerate(self.texts):
            found = simulation.entry.golden().process(text, final=number < complete)
            self.expected.append([simulation.entry.comparable(symbol) for symbol in found])

    def _give(self, simulation: Simulation, payload: int) -> None:
        beat = simulation.core.output.payload.shape().from_bits(payload)
        try:
            self.given[-1] += simulation.read(payload)
        except ContractError as error:
            self.given[-1].append(f"({error})")
        if beat.last:
            self.given.append([])

    def _replay(self, simulation: Simulation) -> None:
        # The patterns repeat, so each needs a cycle without a pause.
        self.input_pauses = [*self.input_pauses, False]
        self.output_pauses = [*self.output_pauses, False]
        self.null_beats = [*self.null_beats, False]
        try:
            run = simulation.run(
                self.texts,
                input_pauses=self.input_pauses,
                output_pauses=self.output_pauses,
                separate_ends=self.separate_ends or [False],
                null_beats=self.null_beats,
            )
        except (ContractError, ValueError) as error:
            self.reproduced = str(error)
            return
        expected = [simulation.expected(text) for text in self.texts]
        if run.texts != expected:
            self.reproduced = "the items differ"

    def lines(self) -> list[str]:
        """The counterexample as text, in lines."""
        lines = [f"{self.configuration}: {self.wanted} fails in {counted(len(self.cycles) - 1, 'cycle')}"]
        for number, text in enumerate(self.texts):
            lines.append(f"  text {number + 1}    {spell(text, self.unit_width) or '(empty)'}")
            for name, items in (("expected", self.expected), ("given", self.given)):
                shown = ", ".join(map(_shown, items[number])) if number < len(items) else ""
                lines.append(f"    {name:8} {shown or 'nothing'}")
        for number in range(len(self.texts), len(self.given)):
            lines.append(f"    given    {', '.join(map(_shown, self.given[number]))} without a text")
        pauses = [("input pauses", self.input_pauses), ("output pauses", self.output_pauses)]
        lines += [f"  {name:13} {''.join(str(int(pause)) for pause in pattern)}" for name, pattern in pauses]
        if self.reproduced:
            lines.append(f"  in simulation: {self.reproduced}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The counterexample as a dictionary, for JSON."""
        return {
            "texts": [spell(text, self.unit_width) for text in self.texts],
            "expected": [list(map(_shown, items)) for items in self.expected],
            "given": [list(map(_shown, items)) for items in self.given],
            "input_pauses": "".join(str(int(pause)) for pause in self.input_pauses),
            "output_pauses": "".join(str(int(pause)) for pause in self.output_pauses),
        }

    def write(self, directory: Path) -> list[Path]:
        """Write the waveform and, if the ordinary simulation fails as well, a regression test."""
        directory.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "_", f"{self.configuration}_{self.wanted}")
        waveform = directory / f"{stem}.vcd"
        cycles = [{name.removeprefix("see_"): value for name, value in values.items()} for values in self.cycles]
        names = sorted({name for values in cycles for name in values})
        sizes = {name: max(values[name] for values in cycles).bit_length() or 1 for name in names}
        with waveform.open("w", encoding="utf-8") as file:
            write_cycles(file, "top", sizes, cycles)
        if not self.reproduced:
            return [waveform]
        test = directory / f"test_{stem}.py"
        test.write_text(self._test(stem), encoding="utf-8")
        return [waveform, test]

    def _test(self, stem: str) -> str:
        texts = "".join(f"    {tuple(text)!r},  # {spell(text, self.unit_width)}\n" for text in self.texts)
        return f'''\
# SPDX-License-Identifier: BSD-2-Clause
"""A counterexample to {self.wanted} of {self.configuration}, found by `utf8fpga prove`."""

{_imports(self.call)}

TEXTS = [
{texts}]


def test_{stem}() -> None:
    simulation = Simulation({self.call})
    run = simulation.run(
        TEXTS,
        input_pauses={self.input_pauses!r},
        output_pauses={self.output_pauses!r},
        separate_ends={self.separate_ends or [False]!r},
        null_beats={self.null_beats!r},
    )
    assert run.texts == [simulation.expected(text) for text in TEXTS]
'''


def _imports(call: str) -> str:
    """The lines that import `Simulation` and the names in an expression."""
    names: dict[str, set[str]] = {"utf8fpga.sim": {"Simulation"}}
    for name in set(re.findall(r"[A-Z]\w+|\bdecoder_core\b|\bbuild\b", call)) - {"True", "False"}:
        homes = [home.__name__ for home in (hdl, model, forms) if name in home.__all__]
        homes += [kind.__module__ for kind in CORES.values() if kind.__name__ == name]
        names.setdefault(homes[0], set()).add(name)
    return "\n".join(f"from {home} import {', '.join(sorted(names[home]))}" for home in sorted(names))


def compared_with(core: Any, table: EncodingTable | None) -> CoreEntry[Any]:
    """What a core is compared with: what its parameters are, or those with another table."""
    parameters: Any = parameters_of(core)
    return entry_of(
        parameters if table is None or not hasattr(parameters, "table") else replace(parameters, table=table)
    )


def _shown(symbol: Any) -> str:
    return f"U+{symbol.code_point:04X}{' ERROR' if symbol.error else ''}" if isinstance(symbol, Word) else str(symbol)
