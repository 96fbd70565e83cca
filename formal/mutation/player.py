# SPDX-License-Identifier: BSD-2-Clause
"""A core or one of its mutants in the drivers of the ordinary simulation, cycle by cycle.

The output is compared with the golden function, and the cycles with the timing contract of `Core`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import lru_cache
from typing import Any

from amaranth.hdl import Value

from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.mutation.changes import CHANGES
from utf8fpga.formal.mutation.workload import Round
from utf8fpga.hdl import Core
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.sim import ContractError, Simulation
from utf8fpga.sim.beats import BeatEncoder, Receiver, is_null
from utf8fpga.sim.engines import Events
from utf8fpga.sim.engines.python import Bench

Step = Callable[[list[int], list[int], int], tuple[list[int], list[int]]]
"""See `Aig.stepper`."""


class _Expected:
    """What the golden function says about a round.

    Attributes:
        known: by number of transferred beats the number of symbols and ends of packets that they determine.
        due: the same without those that a core may keep until the next beat: all of a beat that ends within a sequence,
            if there are several lanes, and those that do not fill a packed output beat.
    """

    def __init__(self, simulation: Simulation, given: Round) -> None:
        core, golden = simulation.core, simulation.parameters.golden()
        self.packets = [simulation.expected(text) for text in given.texts]
        self.known, self.due = [0], [0]
        size = lanes_of(core.output) if core.packed else 1
        begin = pending = 0
        for beat in given.beats:
            slots, last = beat
            symbols = [slot for slot in slots if slot is not None]
            made = golden.process(symbols, last)
            known, due = self.known[-1] + len(made) + last, self.due[-1]
            pending = 0 if last else pending + len(symbols) - sum(each.length for each in made)
            if not is_null(beat):
                due = self.known[-1] if pending and core.lanes > 1 else known
                due -= 0 if last else max(due - begin, 0) % size
            begin = known if last else begin
            self.known.append(known)
            self.due.append(due)


@lru_cache(maxsize=2)
def _expected(simulation: Simulation, given: Round) -> _Expected:
    """As many are kept as a run has rounds, since many mutants play it."""
    return _Expected(simulation, given)


class _Timing:
    """The check of the timing contract in a run from a reset on.

    Args:
        strict: the input is ready once no output beat has waited for `stall_cycles` cycles, as in `Property.STALL`.

    Attributes:
        received: symbols and ends of packets that have been transferred.
    """

    def __init__(self, core: Core, expected: _Expected, *, strict: bool) -> None:
        self._core, self._expected, self._strict = core, expected, strict
        self.received = self._beats = self._stalled = self._quiet = 0
        self._due: list[int] = []
        self._smooth = False

    @property
    def cycles(self) -> int:
        """The cycles so far."""
        return len(self._due)

    def check(self, *, ready: bool, accepted: bool, waits: bool) -> None:
        """Proceed by a cycle."""
        core = self._core
        self._beats += accepted
        due = self._expected.due[self._beats]
        self._due.append(due)
        may_stall = waits or (ready and not self._strict) or self.cycles <= core.reset_cycles
        self._stalled = 0 if may_stall else self._stalled + 1
        if not ready and self._stalled > core.stall_cycles:
            raise ContractError(f"the input is not ready, and no output beat has waited for {self._stalled} cycles")
        self._quiet = 0 if accepted or waits else self._quiet + 1
        if self._quiet > core.drain_cycles and self.received < due:
            raise ContractError(f"a symbol is not transferred within drain_cycles {core.drain_cycles}")
        self._smooth = self._smooth and not waits
        if self._smooth and self.cycles > core.latency and self.received < self._due[-1 - core.latency]:
            raise ContractError(f"a symbol is not transferred within latency {core.latency}")
        # After a wait or a reset, `latency` does not hold before all that is in flight has been transferred.
        if not waits and self.cycles > core.drain_cycles and self.received >= self._expected.known[self._beats]:
            self._smooth = True


_INPUTS = {"in_payload": "fresh", "in_valid": "offer", "out_ready": "ready", "rst": "reset"}
"""By input of a core that of an `Environment` with the same value."""


class Player:
    """A core or a mutant, as the context of a test bench.

    Args:
        change: the number of the change that is effective; None: none is.

    Attributes:
        cycles: per cycle of all rounds the values of the inputs, named as those of `Environment`.
    """

    def __init__(self, simulation: Simulation, graph: Aig, step: Step, change: int | None, *, strict: bool) -> None:
        self._simulation, self._step, self._strict = simulation, step, strict
        self._encode = BeatEncoder(simulation.core, simulation.parameters)
        self._bits = graph.input_bits | graph.output_bits
        self._state, self._frame = [0] * len(graph.latches), [0] * graph.inputs
        if change is not None:
            self._frame[graph.input_bits[CHANGES][change]] = 1
        source, output = simulation.core.input, simulation.core.output
        ports = {
            "in_payload": source.payload,
            "in_valid": source.valid,
            "in_ready": source.ready,
            "out_payload": output.payload,
            "out_valid": output.valid,
            "out_ready": output.ready,
        }
        self._names = {id(Value.cast(value)): name for name, value in ports.items()}
        self._values = dict.fromkeys(_INPUTS.values(), 0)
        self._next: tuple[list[int], list[int]] | None = None
        self.cycles: list[dict[str, int]] = []

    def play(self, given: Round) -> str:
        """The first violation in a round, after which a reset follows if the round is cut; empty if there is none."""
        core = self._simulation.core
        expected = _expected(self._simulation, given)
        self._cut, self._timing = given.cut, _Timing(core, expected, strict=self._strict)
        found: list[list[Any]] = [[]]

        def take(symbol: Any, last: bool, _since: int) -> None:
            packet = found[-1]
            if symbol is not None:
                packet.append(symbol)
            correct = expected.packets[len(found) - 1] if len(found) <= len(expected.packets) else []
            if packet != correct[: len(packet)] or (last and len(packet) != len(correct)):
                raise ContractError(f"packet {len(found) - 1}: {packet[-3:]} at {len(packet)}, {len(correct)} expected")
            if last:
                found.append([])
            self._timing.received += (symbol is not None) + last

        receiver = Receiver(core, self._simulation.symbol, take)
        bench = Bench(core, self._encode, iter(given.beats), Events(receiver.receive))
        try:
            if given.cut != 0:
                _finish(bench.play(self, given.input_pauses, given.output_pauses))
        except ContractError as error:
            self.cycles.append(dict(self._values))
            return str(error)
        except _CutError:
            pass
        if given.cut is not None:
            self._set("rst", 1)
            self._advance()
            self._set("rst", 0)
            return ""
        return "" if len(found) == len(expected.packets) + 1 else f"{len(found) - 1} packets of {len(expected.packets)}"

    def set(self, port: Any, value: int) -> None:
        """Assign a value to an input."""
        self._set(self._names[id(Value.cast(port))], value)

    def _set(self, name: str, value: int) -> None:
        self._values[_INPUTS[name]] = value
        for bit, at in enumerate(self._bits[name]):
            self._frame[at] = value >> bit & 1
        self._next = None

    def get(self, port: Any) -> int:
        """The value of an output in this cycle."""
        return self._get(self._names[id(Value.cast(port))])

    def _get(self, name: str) -> int:
        _, outputs = self._following()
        return sum(outputs[at] << bit for bit, at in enumerate(self._bits[name]))

    def _following(self) -> tuple[list[int], list[int]]:
        """The next state, and the outputs of this cycle."""
        if self._next is None:
            self._next = self._step(self._state, self._frame, 1)
        return self._next

    def tick(self) -> _Tick:
        """Proceed to the next cycle.

        Raises:
            _CutError: the core is to be reset.
        """
        ready, waits = bool(self._get("in_ready")), bool(self._get("out_valid") and not self._values["ready"])
        self._timing.check(ready=ready, accepted=ready and bool(self._values["offer"]), waits=waits)
        self._advance()
        if self._timing.cycles == self._cut:
            raise _CutError
        return _Tick()

    def _advance(self) -> None:
        self.cycles.append(dict(self._values))
        self._state, _ = self._following()
        self._next = None


class _CutError(Exception):
    pass


class _Tick:
    def __await__(self) -> Iterator[Any]:
        return iter(())


def _finish(play: Coroutine[Any, Any, None]) -> None:
    """Run a test bench that never waits for another one."""
    try:
        play.send(None)
    except StopIteration:
        return
    raise AssertionError("a test bench waits for a simulator")
