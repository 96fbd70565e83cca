# SPDX-License-Identifier: BSD-2-Clause
"""A trace of a proof in terms of text: the input, the expected items and the items of the decoder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import utf8fpga.hdl as hdl
import utf8fpga.model as model
from utf8fpga.hdl import CORES, Word
from utf8fpga.model import forms, spell
from utf8fpga.model.render import counted
from utf8fpga.sim.beats import StreamOptions, symbol_width
from utf8fpga.sim.check import Trace
from utf8fpga.sim.contract import ContractError
from utf8fpga.sim.harness import Property
from utf8fpga.sim.simulation import Simulation


@dataclass
class Counterexample:
    """A trace, and the result of its replay in simulation.

    Attributes:
        cycles: per cycle the values of the ports.
        texts: the units of each text since the last reset; the last one may be incomplete.
        options: the pauses, null beats and ends.
        given: per text the items of the decoder.
        expected: per text the items of the golden model.
        reproduced: the failure of the ordinary simulation of the same texts and pauses; empty if it does not fail.
    """

    configuration: Any
    wanted: Property
    cycles: list[dict[str, int]]
    unit_width: int
    texts: list[tuple[int, ...]]
    options: StreamOptions
    given: list[list[Any]]
    expected: list[list[Any]] = field(default_factory=list)
    reproduced: str = ""

    @staticmethod
    def of(configuration: Any, wanted: Property, cycles: list[dict[str, int]]) -> Counterexample:
        """Read a trace of the core that `configuration` builds, with a cycle after the violation."""
        simulation = Simulation(configuration.build())
        trace = Trace.of(simulation.core, cycles[:-1] or cycles)
        given = _given(simulation, trace.payloads)
        given = given if given[-1] else given[:-1]
        width = symbol_width(simulation.core)
        found = Counterexample(configuration, wanted, cycles, width, trace.texts, trace.options, given)
        found.expected = [simulation.expected(text) for text in trace.texts]
        found._replay(simulation)
        return found

    def _replay(self, simulation: Simulation, vcd: Path | None = None) -> None:
        try:
            run = simulation.run(self.texts, vcd=vcd, **asdict(self.options))
        except (ContractError, ValueError) as error:
            self.reproduced = str(error)
            return
        if run.texts != self.expected:
            self.reproduced = "the items differ"

    @property
    def _pauses(self) -> list[tuple[str, str]]:
        patterns = [("input", self.options.input_pauses), ("output", self.options.output_pauses)]
        return [(f"{name} pauses", "".join(str(int(pause)) for pause in pattern)) for name, pattern in patterns]

    def lines(self) -> list[str]:
        """The counterexample as text, in lines."""
        lines = [f"{self.configuration.name}: {self.wanted} fails in {counted(len(self.cycles) - 1, 'cycle')}"]
        for number, text in enumerate(self.texts):
            lines.append(f"  text {number + 1}    {spell(text, self.unit_width) or '(empty)'}")
            for name, items in (("expected", self.expected), ("given", self.given)):
                shown = ", ".join(map(_shown, items[number])) if number < len(items) else ""
                lines.append(f"    {name:8} {shown or 'nothing'}")
        for number in range(len(self.texts), len(self.given)):
            lines.append(f"    given    {', '.join(map(_shown, self.given[number]))} without a text")
        lines += [f"  {name:13} {pattern}" for name, pattern in self._pauses]
        if self.reproduced:
            lines.append(f"  in simulation: {self.reproduced}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The counterexample as a dictionary, for JSON."""
        return {
            "texts": [spell(text, self.unit_width) for text in self.texts],
            "expected": [list(map(_shown, items)) for items in self.expected],
            "given": [list(map(_shown, items)) for items in self.given],
            **{name.replace(" ", "_"): pattern for name, pattern in self._pauses},
        }

    def write(self, directory: Path) -> list[Path]:
        """Write the waveform of the replay and, if the ordinary simulation fails as well, a regression test."""
        directory.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "_", f"{self.configuration.name}_{self.wanted}")
        waveform = directory / f"{stem}.vcd"
        self._replay(Simulation(self.configuration.build()), waveform)
        if not self.reproduced:
            return [waveform]
        test = directory / f"test_{stem}.py"
        test.write_text(self._test(stem), encoding="utf-8")
        return [waveform, test]

    def _test(self, stem: str) -> str:
        texts = "".join(f"    {tuple(text)!r},  # {spell(text, self.unit_width)}\n" for text in self.texts)
        options = "".join(f"        {name}={pattern!r},\n" for name, pattern in asdict(self.options).items())
        return f'''\
# SPDX-License-Identifier: BSD-2-Clause
"""A counterexample to {self.wanted} of {self.configuration.name}, found by `utf8fpga prove`."""

{_imports(self.configuration.call)}

TEXTS = [
{texts}]


def test_{stem}() -> None:
    simulation = Simulation({self.configuration.call})
    run = simulation.run(
        TEXTS,
{options}    )
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


def _given(simulation: Simulation, payloads: Sequence[int]) -> list[list[Any]]:
    """The symbols of each text at the output; what violates the contract is a symbol that is its message."""
    texts: list[list[Any]] = [[]]
    for payload in payloads:
        try:
            texts[-1] += simulation.read(payload)
        except ContractError as error:
            texts[-1].append(str(error))
        if simulation.read.ends(payload):
            texts.append([])
    return texts


def _shown(symbol: Any) -> str:
    return f"U+{symbol.code_point:04X}{' ERROR' if symbol.error else ''}" if isinstance(symbol, Word) else str(symbol)
