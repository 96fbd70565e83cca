# SPDX-License-Identifier: BSD-2-Clause
"""A foreign core: a decoder or validator from elsewhere, and what it outputs for texts in many runs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from utf8fpga.model import TABLE_3_7
from utf8fpga.sim import contract
from utf8fpga.sim.beats import StreamOptions
from utf8fpga.sim.foreign_module import OWN_PORTS, CoreError, read_module
from utf8fpga.sim.graph import RUNS, Graph, Numbers
from utf8fpga.sim.graph_engine import Bits, CoreRuns
from utf8fpga.sim.kernel import set_input
from utf8fpga.sim.report import CHANGED

WORD_BITS = 32
"""Bits of each of several code points, and upper bound on those of one."""

Pauses = tuple[str, str]
"""For each cycle, repeated, 1 where the next input is delayed, and 1 where the output is not ready; not always 1."""

NO_PAUSES = ("0", "0")

_LEAST_BITS = TABLE_3_7.last_code_point.bit_length()

_PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

_QUIET = 96
"""Cycles without output after which a run ends."""

_RESET_CYCLES = 4

_ABSENT = bytes([TABLE_3_7.rows[-1].units[-1].last])
"""The byte in lanes without one: a core that does not ignore it fails."""

_REASONS: dict[int, str] = {
    contract.DEASSERTED: CHANGED,
    contract.CHANGED: CHANGED,
    contract.STUCK: f"input.ready was deasserted for {_PATIENCE} cycles",
    contract.ENDLESS: "there is no end of the output",
}
"""By what a run did wrong."""


@dataclass
class Outcome:
    """What a core did in a run.

    Attributes:
        words: its output words, see `word`, without those of which a part is missing; those of a validator have the
            code point 0.
        ends: for each asserted `last` the number of words up to it.
        reason: why the run was cut off, or what was wrong apart from the words; empty if nothing was.
    """

    words: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reason: str = ""


def word(code_point: int, has_error: bool) -> str:
    """A word as a text: the code point in hexadecimal, with ``!`` before it if `error` is asserted."""
    return f"{'!' if has_error else ''}{code_point:04X}"


class ForeignCore:
    """A foreign core as a graph.

    Args:
        top: its top module; default: the module that no other one instantiates.
        description: its ports, see `read_description`.

    Attributes:
        ports: the tables `input` and `output` of the description.
        module: the module.
        lanes: the bytes of an input beat.
        sends_empty_texts: whether a text without a byte can be sent.
        separates_texts: whether a text can follow another one.

    Raises:
        CoreError, ToolError: see `read_module`; CoreError also if a port is missing or has another width.
    """

    def __init__(
        self, files: Sequence[Path], top: str | None = None, description: Mapping[str, Any] = OWN_PORTS
    ) -> None:
        self.ports: dict[str, dict[str, str]] = {side: description.get(side, OWN_PORTS[side]) for side in OWN_PORTS}
        self.module = read_module(files, top, description)
        given, made = self.ports["input"], self.ports["output"]
        self.is_validator, self.has_back_pressure = "code_point" not in made, "ready" in made
        self.has_end, self.has_last, self.has_error = "last" in given, "last" in made, "error" in made
        self.sends_empty_texts = {"last", "keep"} <= given.keys()
        self.separates_texts = self.has_end or self.module.reset != ""
        graph = Graph.from_rtlil(self.module.rtlil)
        bits = {f"{side}.{role}": self._literals(graph, side, role) for side in OWN_PORTS for role in OWN_PORTS[side]}
        self.lanes, points = max(1, len(bits["input.byte"]) // 8), len(bits["output.code_point"])
        # The words of an output beat, and of each of them the bits of the code point and of `keep`.
        self._words, self._point_bits = max(1, points // WORD_BITS), min(points, WORD_BITS)
        self._keep_bits = max(1, len(bits["output.keep"]) // self._words)
        self._check(bits)
        self._connect(graph, bits)
        self._runs = runs = CoreRuns(graph, _PATIENCE, RUNS, silent=_QUIET)
        for name, _, value in self.module.constants:
            for place, literal in enumerate(graph.inputs[name]):
                set_input(runs.state.values, literal, runs.state.active if value >> place & 1 else np.uint64(0))
        runs.reset(_RESET_CYCLES)
        self._after_reset = runs.state

    def _known(self, side: str, role: str) -> dict[str, int]:
        """The ports of the core in the direction of a role; that of `ready` is the other one."""
        return self.module.inputs if (side == "input") != (role == "ready") else self.module.outputs

    def _literals(self, graph: Graph, side: str, role: str) -> list[int]:
        """The literals of the port of a role; none where there is none."""
        name, known = self.ports[side].get(role, ""), graph.inputs | graph.outputs
        port = name.removeprefix("!")
        return [literal ^ name.startswith("!") for literal in known[port]] if port in self._known(side, role) else []

    def _check(self, bits: Mapping[str, list[int]]) -> None:
        """Check that each role has a port of the right width, and each input of the core a role."""
        where, words = self.module.where, self._words
        widths = {"input.byte": 8 * self.lanes, "input.keep": self.lanes, "output.error": words}
        widths |= {"output.code_point": words * max(self._point_bits, _LEAST_BITS)}
        widths |= {"output.keep": words * self._keep_bits}
        needed = {
            "input": ["byte", "valid"] + ["last"] * self.has_last + ["keep"] * (self.lanes > 1),
            "output": ["valid"] + ["error", "last"] * self.is_validator + ["keep"] * (words > 1),
        }
        for side, roles in self.ports.items():
            if missing := [role for role in needed[side] if role not in roles]:
                raise CoreError(f"{where}: {side}.{missing[0]} is missing: name the port")
            for role, name in roles.items():
                if len(bits[f"{side}.{role}"]) != (wanted := widths.get(f"{side}.{role}", 1)):
                    known = ", ".join(f"{port} {width}" for port, width in self._known(side, role).items())
                    text = f"{name!r} for {side}.{role} is no port of {wanted} bits; with --ports, name one of {known}"
                    raise CoreError(f"{where}: {text}")
        named = {name.removeprefix("!") for roles in self.ports.values() for name in roles.values()}
        if others := self.module.inputs.keys() - named:
            raise CoreError(f"{where}: neither named nor constant are the inputs {', '.join(sorted(others))}")

    def _connect(self, graph: Graph, bits: Mapping[str, list[int]]) -> None:
        """Give the graph the ports of `core_rtlil`.

        The input payload is the bytes, `keep` and `last` where the core has them; the output payload is code points,
        errors, `keep` and `last`.
        """
        # Nothing depends on the value of the clock, which stands for what is missing.
        clock = graph.inputs[self.module.clock]
        graph.inputs |= {
            "rst": [literal ^ self.module.reset_low for literal in graph.inputs.get(self.module.reset, clock)],
            "in_payload": bits["input.byte"] + bits["input.keep"] + bits["input.last"],
            "in_valid": bits["input.valid"],
            "out_ready": bits["output.ready"] or clock,
        }
        errors, keep = bits["output.error"] or [0] * self._words, bits["output.keep"] or [1] * self._words
        graph.outputs = {
            "in_ready": bits["input.ready"] or [1],
            "out_valid": bits["output.valid"],
            "out_payload": bits["output.code_point"] + errors + keep + (bits["output.last"] or [0]),
        }

    def run(self, runs: Sequence[Sequence[bytes]], pauses: Pauses = NO_PAUSES) -> list[Outcome]:
        """Run texts through the core, each run from the state after a reset.

        Args:
            runs: for each run its texts, which follow each other without a pause or, if the core has no end of text,
                after a reset.
        """
        given, taken = ([digit == "1" for digit in pattern] for pattern in pauses)
        options = StreamOptions(given, taken if self.has_back_pressure else [False])
        found = [Outcome() for _ in runs]
        for first in range(0, len(runs), RUNS):
            chosen, outcomes = runs[first : first + RUNS], found[first : first + RUNS]
            self._runs.begin(self._after_reset)
            if self.has_end:
                self._send(options, chosen, outcomes)
                continue
            for texts in zip_longest(*chosen):
                self._send(options, [() if text is None else (text,) for text in texts], outcomes)
                self._runs.reset(_RESET_CYCLES)
        return found

    def _send(self, options: StreamOptions, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        """Send texts until the output of all runs is quiet, and add what is received."""
        beats, text_ends = self._beats([text for run in runs for text in run])
        counts = np.cumsum([len(run) for run in runs] + [0] * (RUNS - len(runs)))
        # The kinds of beats do not matter, since a run ends when its output is quiet.
        parts = list(self._runs.send(beats, np.zeros(len(beats), np.int64), text_ends[counts].tolist(), options))
        of_runs = np.concatenate([part.received[:, 1] for part in parts])
        payloads = np.concatenate([part.payloads for part in parts])
        sizes = self._words * np.array([self._point_bits, 1, self._keep_bits])
        points, errors, keep, last = np.split(payloads, np.cumsum(sizes), axis=1)
        shape = len(payloads), self._words
        values = points.reshape(*shape, self._point_bits) @ (np.int64(1) << np.arange(self._point_bits))
        keep = keep.reshape(*shape, self._keep_bits)
        for number, outcome in enumerate(found):
            of_run = of_runs == number
            kept = keep[of_run].all(axis=2)
            sums = np.cumsum(kept.sum(axis=1)) + len(outcome.words)
            outcome.ends += sums[last[of_run, 0] != 0].tolist()
            outcome.words += map(word, values[of_run][kept].tolist(), errors[of_run][kept].tolist())
            outcome.reason = outcome.reason or _REASONS.get(int(self._runs.runs["fault"][number]), "")

    def _beats(self, texts: Sequence[bytes]) -> tuple[Bits, Numbers]:
        """The bits of the beats of texts, all full except the last of each, and the number of beats before each end."""
        counts = [max(1, -(-len(text) // self.lanes)) for text in texts]
        padded = list(zip(texts, counts, strict=True))
        fields = {
            "byte": b"".join(text.ljust(count * self.lanes, _ABSENT) for text, count in padded),
            "keep": b"".join((b"\1" * len(text)).ljust(count * self.lanes, b"\0") for text, count in padded),
            "last": b"".join(b"\1".rjust(count, b"\0") for count in counts),
        }
        arrays = {name: np.frombuffer(data, np.uint8).reshape(sum(counts), -1) for name, data in fields.items()}
        arrays["byte"] = np.unpackbits(arrays["byte"], axis=1, bitorder="little")
        sent = [array for name, array in arrays.items() if name in self.ports["input"]]
        return np.concatenate(sent, axis=1), np.cumsum([0, *counts])
