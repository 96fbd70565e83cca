# SPDX-License-Identifier: BSD-2-Clause
"""Monitors around mutants: a graph with a monitor is joined to the graph of a core with one of its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Module, Signal, Value

from utf8fpga.formal.aiger import Aig, GateList, aig_of
from utf8fpga.formal.cycles import next_cycle
from utf8fpga.formal.mutation.changes import CHANGES
from utf8fpga.formal.properties import JUDGES, Environment, Property
from utf8fpga.sim.beats import output_fields

EVERY = -1
"""In place of the number of a change: the changes remain inputs, so that each run of many has another one."""

_TO_CORE = {
    "in_payload": "see_in_payload",
    "in_valid": "see_in_valid",
    "out_ready": "see_out_ready",
    "rst": "see_reset",
}
"""By input of a core the output of a monitor that is connected to it."""


class Twin(Environment):
    """The monitor of whether two cores do the same in each cycle, with the same input.

    Args:
        core, other: the cores, which are outside.

    Attributes:
        bad: they differ in a signal that is defined.
    """

    def __init__(self, core: Any, other: Any) -> None:
        super().__init__(core, outside=True)
        self.other = other
        self.bad = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.surround(m, self.reset)
        ours, theirs = self.core.output, self.other.output
        differs = (ours.valid != theirs.valid) | (self.core.input.ready != self.other.input.ready)
        beat, other = ours.payload, theirs.payload
        payload = (beat.last != other.last) | (Value.cast(beat.keep) != Value.cast(other.keep))
        for keep, one, two in zip(beat.keep, beat.symbols, other.symbols, strict=True):
            payload |= keep & (Value.cast(one) != Value.cast(two))
            if "error" in output_fields(self.core):
                payload |= one.error != two.error
        m.d.comb += self.bad.eq(~self.reset & (differs | (ours.valid & payload)))
        return m


def monitor_aig(monitor: Any, *cores: Any) -> Aig:
    """The graph of a monitor around cores that are outside; their outputs are inputs with the number of the core."""
    ports: dict[str, Any] = {each.name: (each, None) for each in monitor.ports}
    for number, core in enumerate(cores):
        ports |= {
            f"in_ready{number}": (core.input.ready, None),
            f"out_valid{number}": (core.output.valid, None),
            f"out_payload{number}": (Value.cast(core.output.payload), None),
        }
    return aig_of(str(rtlil.convert(monitor, name="top", ports=ports, emit_src=False)))


def joined(monitor: Aig, core: Aig, effective: Sequence[int | None]) -> Aig:
    """A monitor around mutants.

    Args:
        monitor: the result of `monitor_aig`.
        core: the graph of the core, with changes.
        effective: for each core of the monitor the number of its change, or `EVERY`; None: it is unchanged.
    """
    size = len(core.latches)
    latches = len(monitor.latches) + size * len(effective)
    free = monitor.inputs + len(core.input_bits[CHANGES])
    gates = GateList.blank(free, latches)
    inputs = [2 * (1 + n) for n in range(free)]
    state = [2 * (1 + free + n) for n in range(latches)]
    watched, states = state[: len(monitor.latches)], state[len(monitor.latches) :]
    # What the monitor sends to a core does not depend on what it receives in the same cycle.
    sent, _ = next_cycle(gates, monitor, watched, inputs[: monitor.inputs])
    given, following = [0] * core.inputs, list[int]()
    for name, port in _TO_CORE.items():
        for at, bit in zip(core.input_bits.get(name, ()), monitor.output_bits[port], strict=False):
            given[at] = sent[bit]
    for number, change in enumerate(effective):
        for n, at in enumerate(core.input_bits[CHANGES]):
            given[at] = inputs[monitor.inputs + n] if change == EVERY else int(n == change)
        outputs, after = next_cycle(gates, core, states[size * number : size * (number + 1)], given)
        following += after
        for name in ("in_ready", "out_valid", "out_payload"):
            for at, bit in zip(monitor.input_bits.get(f"{name}{number}", ()), core.output_bits[name], strict=True):
                inputs[at] = outputs[bit]
    outputs, after = next_cycle(gates, monitor, watched, inputs[: monitor.inputs])
    ports = monitor.input_bits | {CHANGES: list(range(monitor.inputs, free))}
    return gates.graph([*after, *following], outputs, ports, monitor.output_bits)


def frame_of(aig: Aig, values: Mapping[str, int], every: int, others: Mapping[int, int]) -> list[int]:
    """The inputs of a graph in a cycle of many runs.

    Args:
        values: by port its value, the same in all runs.
        others: by number the inputs that are not the same in all runs.
    """
    frame = [0] * aig.inputs
    for name, value in values.items():
        for bit, at in enumerate(aig.input_bits.get(name, ())):
            frame[at] = every if value >> bit & 1 else 0
    for at, word in others.items():
        frame[at] = word
    return frame


def refuting(aig: Aig, inputs: Sequence[Mapping[str, int]]) -> tuple[Property, list[list[int]]] | None:
    """A property of `JUDGES` that a run violates, for any choice of the watched event, and the frames of the run.

    Args:
        aig: a `Harness` of `Property.TOGETHER`.
        inputs: per cycle the values of the ports except `pick`.
    """
    # Many runs at once, one for each cycle and each place of an event: a run watches the first event in that place from
    # that cycle on. So every event is watched in some run.
    places = aig.input_bits["pick"]
    # A monitor raises its bit one cycle after the violation.
    inputs = [*inputs, {}]
    everyone = (1 << len(places) * len(inputs)) - 1
    step, state = aig.stepper(aig.output_bits["bad"]), [0] * len(aig.latches)
    frames: list[list[int]] = []
    looking = 0
    for cycle, values in enumerate(inputs):
        looking |= 1 << len(places) * cycle
        picks = {at: looking << place for place, at in enumerate(places)}
        frames.append(frame_of(aig, values, everyone, picks))
        state, bad = step(state, frames[-1], everyone)
        for wanted, seen in zip(JUDGES, bad, strict=True):
            if seen:
                watcher = seen.bit_length() - 1
                return wanted, [[word >> watcher & 1 for word in each] for each in frames]
    return None
