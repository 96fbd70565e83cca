# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of the gates of any core, and whether the comparison with the golden function detects them.

The core is an and-inverter graph, with its reset deasserted. A mutant has one change in it: an inverted or stuck
connection, an OR gate in place of an AND gate, a register that starts with another value or never changes. All mutants
are in one graph, with an input for each that makes its change effective, so they are simulated together: bit n of each
value belongs to mutant n. They receive what the unchanged core receives, in each round of a workload. A mutant whose
outputs differ in any cycle is simulated again by itself, by the drivers of the ordinary simulation, and its symbols are
compared with those of the golden function. Those that remain are compared with the core by proof.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from typing import Any, Literal

from amaranth.hdl import Value

from utf8fpga.formal.abc import always_zero_each, decide, hunt
from utf8fpga.formal.aiger import Aig, GateList, aig_of
from utf8fpga.hdl import CoreParameters
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim import ContractError, Simulation
from utf8fpga.sim.beats import Beat, BeatEncoder, Receiver, output_fields, symbol_width, with_null_beats
from utf8fpga.sim.engines import Events
from utf8fpga.sim.engines.compiled import core_rtlil
from utf8fpga.sim.engines.python import Bench
from utf8fpga.sim.traffic import Traffic, traffic

__all__ = ["Change", "NetlistMutant", "NetlistScore", "Outcome", "Place", "Round", "judge_core", "rounds_of"]


class Change(StrEnum):
    """The change of a mutant, at a gate or a register."""

    LEFT = "an inverted first input"
    RIGHT = "an inverted second input"
    OR = "OR in place of AND"
    STUCK_0 = "stuck at 0"
    STUCK_1 = "stuck at 1"
    INITIAL = "an inverted initial value"


_OF_GATES = (Change.LEFT, Change.RIGHT, Change.OR, Change.STUCK_0, Change.STUCK_1)
_OF_REGISTERS = (Change.STUCK_0, Change.STUCK_1, Change.INITIAL)


_HUNT = 4
"""Upper bound on the seconds of a search for an input with which a mutant differs."""

_DEEP = 20
"""Cycles of its trace."""


class Outcome(StrEnum):
    """The result of a mutant."""

    KILLED = "killed"
    """The comparison with the golden function, or the check of the stream contract, fails."""

    EQUIVALENT = "equivalent"
    """It is proved equal to the core in each cycle, for any beats that a producer may send."""

    TIMING = "timing"
    """The symbols are correct. Other cycles of transfers, or bits without a meaning, differ within the contract."""

    SURVIVED = "survived"
    """No round differs. A search found an input with which the comparison fails."""

    UNDECIDED = "undecided"
    """No round differs, and neither a proof nor such an input was found in time."""


@dataclass(frozen=True)
class Place:
    """A place in a graph and what is changed there.

    Attributes:
        variable: of the graph.
        change: the change.
    """

    variable: int
    change: Change


@dataclass(frozen=True)
class Round:
    """The input of a run.

    Attributes:
        beats: the input beats, of which the last one ends its packet.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
    """

    beats: Sequence[Beat]
    input_pauses: Sequence[bool] = (False,)
    output_pauses: Sequence[bool] = (False,)

    @property
    def texts(self) -> list[list[int]]:
        """The symbols of each packet."""
        found: list[list[int]] = [[]]
        for slots, last in self.beats:
            found[-1] += [slot for slot in slots if slot is not None]
            if last:
                found.append([])
        return found[:-1]


@dataclass
class NetlistMutant:
    """One mutant and its result.

    Attributes:
        name: the change, and the register or the output that it is nearest to.
        outcome: the result.
        reason: the first difference from the golden function; of one that survives with the input of the search.
    """

    name: str
    outcome: Outcome
    reason: str = ""


@dataclass
class NetlistScore:
    """The results of the mutants of a core.

    Attributes:
        core: the name of the core.
        mutants: the mutants.
    """

    core: str
    mutants: list[NetlistMutant] = field(default_factory=list)

    def having(self, *outcomes: Outcome) -> list[NetlistMutant]:
        """The mutants with one of these results."""
        return [mutant for mutant in self.mutants if mutant.outcome in outcomes]

    @property
    def row(self) -> list[str]:
        """The row of a table: the core, the number of mutants, and that of each outcome."""
        return [self.core, str(len(self.mutants)), *(str(len(self.having(each))) for each in Outcome)]


def rounds_of(simulation: Simulation, count: int, *, size: int = 300) -> list[Round]:
    """The workload: parts of the packets and pauses of `utf8fpga simulate --soak`.

    Args:
        simulation: of the core.
        count: the number of rounds.
        size: upper bound on the input symbols of a round.

    Raises:
        ModuleNotFoundError: NumPy is not installed.
    """
    core, parameters = simulation.core, simulation.parameters
    corpus = resources.files("utf8fpga").joinpath("texts", "torture.txt").read_bytes()
    found = []
    for seed in range(count):
        given = traffic(
            seed,
            8 * size,
            corpus=corpus,
            table=parameters.input_table,
            width=symbol_width(core),
            lanes=core.lanes,
            has_gaps=parameters.accepts_gaps,
        )
        places = simulation.places_of(given.gaps)
        beats: list[Beat] = []
        for number, text in enumerate(_part(given, size, seed)):
            separate_end = given.separate_ends[number % len(given.separate_ends)]
            beats += simulation.beats_of(text, places, separate_end=separate_end)
        found.append(Round(list(with_null_beats(beats, given.null_beats)), given.input_pauses, given.output_pauses))
    return found


def _part(given: Traffic, size: int, seed: int) -> list[list[int]]:
    """Consecutive packets of at most `size` symbols, from a place that the seed determines."""
    ends = given.ends.tolist()
    chosen: list[list[int]] = []
    for number in range(random.Random(seed).randrange(len(ends)), len(ends)):
        first = ends[number - 1] if number else 0
        packet = given.symbols[first : ends[number]].tolist()
        if chosen and len(packet) > size:
            break
        chosen.append(packet[:size])
        size -= len(chosen[-1])
    return chosen


def judge_core(
    parameters: CoreParameters,
    count: int,
    *,
    seed: int = 1,
    workload: Sequence[Round] | None = None,
    seconds: int = 20,
    done: Callable[[int], None] = lambda _: None,
) -> NetlistScore:
    """Make mutants of a core and judge each.

    Args:
        parameters: those of the core.
        count: the number of mutants, or fewer if the core has fewer places.
        seed: the seed of the selection of mutants.
        workload: the rounds; default: 80 of `rounds_of`.
        seconds: time limit of a proof.
        done: called with the number of mutants that are killed, after each round.

    Raises:
        InvalidArgumentError: `count` is less than 1.
        ToolError: Yosys is missing or failed.
    """
    if count < 1:
        raise InvalidArgumentError(f"{count} mutants: specify at least 1")
    subject = _Subject(parameters)
    places = subject.places()
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    judge = _Judge(subject, chosen)
    for given in rounds_of(subject.simulation, 80) if workload is None else workload:
        judge.play(given)
        done(len(judge.killed))
    score = NetlistScore(parameters.name)
    same = subject.equal([place for n, place in enumerate(chosen) if n not in judge.differing])
    for number, place in enumerate(chosen):
        mutant = NetlistMutant(subject.described(place), Outcome.SURVIVED)
        if number in judge.killed:
            mutant.outcome, mutant.reason = Outcome.KILLED, judge.killed[number]
        elif number in judge.differing:
            mutant.outcome = Outcome.TIMING
        elif place in same or (found := subject.separated(place, seconds)) is True:
            mutant.outcome = Outcome.EQUIVALENT
        elif found is None:
            mutant.outcome = Outcome.UNDECIDED
        else:
            reason = judge.reason(found, number)
            mutant.outcome = Outcome.SURVIVED if reason else Outcome.TIMING
            mutant.reason = f"with {found}: {reason}" if reason else ""
        score.mutants.append(mutant)
    return score


class _Subject:
    """A core and its graph.

    Args:
        parameters: those of the core.

    Attributes:
        simulation: of the core, for its golden function and its beats.
        aig: the graph.
    """

    def __init__(self, parameters: CoreParameters) -> None:
        core = parameters.build()
        self.simulation = Simulation(core, parameters)
        self.aig = aig_of(core_rtlil(core))
        self.encode = BeatEncoder(core, parameters)

    def places(self) -> list[Place]:
        """All mutants, in the order of the graph."""
        aig = self.aig
        latch, gate = 1 + aig.inputs, 1 + aig.inputs + len(aig.latches)
        registers = (Place(latch + n, change) for n in range(len(aig.latches)) for change in _OF_REGISTERS)
        gates = (Place(gate + n, change) for n in range(len(aig.gates)) for change in _OF_GATES)
        return [*registers, *gates]

    def described(self, place: Place) -> str:
        """The change, and the register or the nearest register or output that depends on it."""
        aig = self.aig
        latch, gate = 1 + aig.inputs, 1 + aig.inputs + len(aig.latches)
        if place.variable < gate:
            return f"register {self._name(place.variable - latch)}: {place.change}"
        near = {place.variable}
        while True:
            sinks = [self._name(n) for n, literal in enumerate(aig.latches) if literal >> 1 in near]
            for name, bits in aig.output_bits.items():
                sinks += [f"{name}[{n}]" for n, bit in enumerate(bits) if aig.outputs[bit] >> 1 in near]
            if sinks:
                return f"gate {place.variable} before {min(sinks, key=lambda name: (len(name), name))}: {place.change}"
            near |= {gate + n for n, pair in enumerate(aig.gates) if any(literal >> 1 in near for literal in pair)}

    def _name(self, latch: int) -> str:
        return self.aig.names.get(latch, f"latch {latch}").removeprefix("core.")

    def equal(self, places: Sequence[Place]) -> set[Place]:
        """The mutants that merging signals proves equal to the core."""
        twins = {place: _twin(self, place) for place in places}
        asked = [place for place, twin in twins.items() if twin.outputs[0] > 1]
        constant = {place for place, twin in twins.items() if twin.outputs[0] == 0}
        if not asked:
            return constant
        answers = always_zero_each([(twins[place], 0) for place in asked])
        return constant | {place for place, answer in zip(asked, answers, strict=True) if answer}

    def separated(self, place: Place, seconds: int) -> Round | Literal[True] | None:
        """The input with which a mutant differs from the core; True if it is proved equal; None if undecided."""
        twin = _twin(self, place)
        verdict = hunt(twin, 0, _DEEP, seconds=min(seconds, _HUNT))
        if verdict.proved is None:
            verdict = decide({"twin": (twin, 0)}, seconds=seconds)["twin"]
        if verdict.proved:
            return True
        return self._round(twin.values(verdict.frames)) if verdict.frames else None

    def _round(self, cycles: Sequence[dict[str, int]]) -> Round:
        """The input of a trace of a `_twin`, until all packets have ended."""
        layout, lanes = self.simulation.core.input.payload.shape(), self.simulation.core.lanes
        width, beats = symbol_width(self.simulation.core), list[Beat]()
        for values in cycles:
            if values["valid"] and (values["ready"] or values is cycles[-1]):
                symbols, keep = (values["payload"] >> layout[name].offset for name in ("symbols", "keep"))
                slots = (
                    symbols >> width * lane & (1 << width) - 1 if keep >> lane & 1 else None for lane in range(lanes)
                )
                beats.append((tuple(slots), bool(values["payload"] >> layout["last"].offset & 1)))
        pauses = [[not values[name] for values in cycles] + [False] for name in ("valid", "consumer")]
        return Round([*beats, ((), True)], *pauses)


def _blank(inputs: int, latches: int) -> GateList:
    return GateList(Aig(inputs, [0] * latches, [], [], {}, {}, b""))


class _Changes:
    """Changes of a graph that is copied into a list of gates.

    Args:
        gates: the list.
        changes: the changes, each with the literal that is 1 if it is effective.
    """

    def __init__(self, gates: GateList, changes: Sequence[tuple[Place, int]]) -> None:
        self._gates = gates
        self._at: dict[int, list[tuple[Change, int]]] = defaultdict(list)
        for place, effective in changes:
            self._at[place.variable].append((place.change, effective))

    def _effective(self, variable: int, wanted: Change) -> list[int]:
        return [effective for change, effective in self._at.get(variable, ()) if change is wanted]

    def flipped(self, literal: int, variable: int, wanted: Change) -> int:
        """A literal, inverted by the changes of one kind at a variable."""
        for effective in self._effective(variable, wanted):
            literal = self._gates.same(literal, effective) ^ 1
        return literal

    def stuck(self, literal: int, variable: int) -> int:
        """A literal that changes at a variable make constant."""
        for effective in self._effective(variable, Change.STUCK_0):
            literal = self._gates.both(literal, effective ^ 1)
        for effective in self._effective(variable, Change.STUCK_1):
            literal = _either(self._gates, literal, effective)
        return literal

    def gate(self, left: int, right: int, variable: int) -> int:
        """The literal of a gate."""
        gates = self._gates
        left, right = self.flipped(left, variable, Change.LEFT), self.flipped(right, variable, Change.RIGHT)
        value = gates.both(left, right)
        for effective in self._effective(variable, Change.OR):
            value = _either(gates, value, gates.both(_either(gates, left, right), effective))
        return self.stuck(value, variable)


def _either(gates: GateList, one: int, other: int) -> int:
    return gates.both(one ^ 1, other ^ 1) ^ 1


def _copy(
    gates: GateList, aig: Aig, inputs: Sequence[int], latches: Sequence[int], changes: Sequence[tuple[Place, int]]
) -> tuple[list[int], list[int]]:
    """Add a copy of a graph to a list of gates.

    Args:
        gates: the list.
        aig: the graph.
        inputs: the literals of its inputs.
        latches: the literals of its latches.
        changes: see `_Changes`.

    Returns:
        The next values of its latches, and its outputs.
    """
    changed, first = _Changes(gates, changes), 1 + len(inputs)
    # A latch with another initial value has the inverse of its value in the graph.
    values = [0, *inputs, *(changed.flipped(each, first + n, Change.INITIAL) for n, each in enumerate(latches))]

    def of(literal: int) -> int:
        return values[literal >> 1] ^ (literal & 1)

    for left, right in aig.gates:
        values.append(changed.gate(of(left), of(right), len(values)))
    following = [
        changed.flipped(changed.stuck(of(literal), first + n), first + n, Change.INITIAL)
        for n, literal in enumerate(aig.latches)
    ]
    return following, [of(literal) for literal in aig.outputs]


def _mutated(aig: Aig, places: Sequence[Place]) -> Aig:
    """A graph with a further input for each change, which makes it effective."""
    inputs, latches = aig.inputs + len(places), len(aig.latches)
    gates = _blank(inputs, latches)
    changes = [(place, 2 * (1 + aig.inputs + n)) for n, place in enumerate(places)]
    before = [2 * (1 + n) for n in range(inputs + latches)]
    following, outputs = _copy(gates, aig, before[: aig.inputs], before[inputs:], changes)
    return Aig(inputs, following, outputs, gates.gates, aig.input_bits, aig.output_bits, bytes(gates.packed))


def _twin(subject: _Subject, place: Place) -> Aig:
    """A core and a mutant with the same input; the output is 1 if they differ in a signal that is defined.

    A beat that a producer offers is one that it may send, and stays until it is transferred.
    """
    core, aig = subject.simulation.core, subject.aig
    payload, latches = len(aig.input_bits["in_payload"]), len(aig.latches)
    gates = _blank(aig.inputs, 1 + payload + 2 * latches)
    variables = [2 * (1 + n) for n in range(gates.first)]
    inputs, (waits, *held), state = (
        variables[: aig.inputs],
        variables[aig.inputs : aig.inputs + 1 + payload],
        variables[aig.inputs + 1 + payload :],
    )

    def chosen(condition: int, one: int, other: int) -> int:
        return _either(gates, gates.both(condition, one), gates.both(condition ^ 1, other))

    fresh = [inputs[n] for n in aig.input_bits["in_payload"]]
    layout = core.input.payload.shape()
    first: int = layout["keep"].offset
    last = fresh[layout["last"].offset]
    if not subject.simulation.parameters.accepts_gaps:
        # As `keep_of`.
        present = fresh[first]
        contiguous = 1
        for lane in range(first, first + core.lanes):
            contiguous = gates.both(contiguous, fresh[lane])
            fresh[lane] = chosen(last, contiguous, present)
    (valid_at,) = aig.input_bits["in_valid"]
    sent = [chosen(waits, old, new) for old, new in zip(held, fresh, strict=True)]
    given = list(inputs)
    given[valid_at] = _either(gates, waits, inputs[valid_at])
    for n, literal in zip(aig.input_bits["in_payload"], sent, strict=True):
        given[n] = literal
    next_one, one = _copy(gates, aig, given, state[:latches], [])
    next_other, other = _copy(gates, aig, given, state[latches:], [(place, 1)])

    def differs(n: int) -> int:
        return gates.same(one[n], other[n]) ^ 1

    (ready_at,), (out_valid_at,) = aig.output_bits["in_ready"], aig.output_bits["out_valid"]
    out = aig.output_bits["out_payload"]
    bad = _either(gates, differs(ready_at), differs(out_valid_at))
    for n, keep in _meaning(core):
        defined = gates.both(one[out_valid_at], 1 if keep is None else one[out[keep]])
        bad = _either(gates, bad, gates.both(defined, differs(out[n])))
    waits_on = gates.both(given[valid_at], one[ready_at] ^ 1)
    following = [waits_on, *sent, *next_one, *next_other]
    (consumer_at,) = aig.input_bits["out_ready"]
    ports = {
        "bad": [bad],
        "valid": [given[valid_at]],
        "ready": [one[ready_at]],
        "consumer": [given[consumer_at]],
        "payload": sent,
    }
    outputs, bits = list[int](), dict[str, list[int]]()
    for name, literals in ports.items():
        bits[name] = list(range(len(outputs), len(outputs) + len(literals)))
        outputs += literals
    return Aig(aig.inputs, following, outputs, gates.gates, aig.input_bits, bits, bytes(gates.packed))


def _meaning(core: Any) -> Iterator[tuple[int, int | None]]:
    """The bits of an output payload, each with the bit of `keep` without which it is undefined."""
    layout = core.output.payload.shape()
    symbols, keep = layout["symbols"], layout["keep"]
    error = output_fields(core).get("error")
    size = symbols.width // keep.width
    for n in range(symbols.width):
        always = error is not None and n % size == error[0]
        yield symbols.offset + n, None if always else keep.offset + n // size
    yield from ((keep.offset + n, None) for n in range(keep.width))
    yield layout["last"].offset, None


class _Judge:
    """The mutants of a core, simulated together.

    Args:
        subject: the core.
        places: the mutants.

    Attributes:
        killed: by number of a mutant its first difference from the golden function.
        differing: the numbers of mutants that have differed from the core in some cycle.
    """

    def __init__(self, subject: _Subject, places: Sequence[Place]) -> None:
        self._subject, self._count = subject, len(places)
        self._aig = _mutated(subject.aig, places)
        self._step = self._aig.stepper(range(len(self._aig.outputs)))
        self.killed: dict[int, str] = {}
        self.differing: set[int] = set()

    def play(self, given: Round) -> None:
        """Simulate a round, and judge the mutants that differ from the core in it.

        Raises:
            AssertionError: the core itself is rejected.
        """
        inputs: list[list[int]] = []
        expected = self._expected(given)
        if reason := self._checked(given, expected, None, inputs):
            raise AssertionError(f"{self._subject.simulation.parameters.name} is itself rejected: {reason}")
        for number in self._different(inputs):
            self.differing.add(number)
            if reason := self._checked(given, expected, number, []):
                self.killed[number] = reason

    def reason(self, given: Round, number: int) -> str:
        """The first violation of the golden function or the stream contract by a mutant; empty if there is none."""
        return self._checked(given, self._expected(given), number, [])

    def _expected(self, given: Round) -> list[list[Any]]:
        return [self._subject.simulation.expected(text) for text in given.texts]

    def _different(self, inputs: Sequence[list[int]]) -> list[int]:
        """The mutants that are not killed and whose outputs differ in some cycle from those of the core."""
        # The core is the last one.
        every, core = (1 << self._count + 1) - 1, self._count
        effective = [1 << n for n in range(self._count)]
        where, meaning = self._aig.output_bits, list(_meaning(self._subject.simulation.core))
        state, differ = [0] * len(self._aig.latches), 0

        def of_core(word: int) -> int:
            return every if word >> core & 1 else 0

        out = where["out_payload"]
        for frame in inputs:
            state, found = self._step(state, [every if bit else 0 for bit in frame] + effective, every)
            for name in ("in_ready", "out_valid"):
                word = found[where[name][0]]
                differ |= word ^ of_core(word)
            if not found[where["out_valid"][0]] >> core & 1:
                continue
            for n, keep in meaning:
                if keep is None or found[out[keep]] >> core & 1:
                    word = found[out[n]]
                    differ |= word ^ of_core(word)
        return [n for n in range(self._count) if differ >> n & 1 and n not in self.killed]

    def _checked(self, given: Round, expected: Sequence[list[Any]], number: int | None, inputs: list[list[int]]) -> str:
        """The first violation of the golden function or the stream contract in a round; empty if there is none.

        Args:
            given: the round.
            expected: the symbols of the golden function for each packet.
            number: of the mutant; None: the core.
            inputs: to which the inputs of the graph are appended, per cycle.
        """
        simulation, core = self._subject.simulation, self._subject.simulation.core
        found: list[list[Any]] = [[]]

        def take(symbol: Any, last: bool, _since: int) -> None:
            packet = found[-1]
            if symbol is not None:
                packet.append(symbol)
            wanted = expected[len(found) - 1] if len(found) <= len(expected) else []
            if packet != wanted[: len(packet)] or (last and len(packet) != len(wanted)):
                raise ContractError(f"packet {len(found) - 1}: {packet[-3:]} at {len(packet)}, {len(wanted)} expected")
            if last:
                found.append([])

        receiver = Receiver(core, simulation.symbol, take)
        bench = Bench(core, self._subject.encode, iter(given.beats), Events(receiver.receive))
        context = _Context(self._subject, self._aig, self._step, number, self._count, inputs)
        try:
            _finish(bench.play(context, given.input_pauses, given.output_pauses))
        except ContractError as error:
            return str(error)
        return "" if len(found) == len(expected) + 1 else f"{len(found) - 1} packets of {len(expected)}"


def _finish(play: Coroutine[Any, Any, None]) -> None:
    """Run a test bench that never waits for another one."""
    try:
        play.send(None)
    except StopIteration:
        return
    raise AssertionError("a test bench waits for a simulator")


class _Tick:
    def __await__(self) -> Iterator[Any]:
        return iter(())


class _Context:
    """One mutant, or the core, as the context of a test bench.

    Also checks `Core.stall_cycles`.
    """

    def __init__(
        self,
        subject: _Subject,
        aig: Aig,
        step: Callable[[list[int], list[int], int], tuple[list[int], list[int]]],
        number: int | None,
        count: int,
        inputs: list[list[int]],
    ) -> None:
        core = subject.simulation.core
        self._step, self._inputs, self._plain = step, inputs, subject.aig.inputs
        self._state, self._values = [0] * len(aig.latches), [0] * self._plain
        self._effective = [int(n == number) for n in range(count)]
        self._limit, self._stalled = core.stall_cycles + core.reset_cycles, 0
        ports = {
            "in_payload": core.input.payload,
            "in_valid": core.input.valid,
            "in_ready": core.input.ready,
            "out_payload": core.output.payload,
            "out_valid": core.output.valid,
            "out_ready": core.output.ready,
        }
        where = aig.input_bits | aig.output_bits
        self._where = {id(Value.cast(value)): where[name] for name, value in ports.items()}
        self._ready, self._valid = where["in_ready"][0], where["out_valid"][0]
        self._consumer = where["out_ready"][0]
        self._next: tuple[list[int], list[int]] | None = None

    def set(self, port: Any, value: int) -> None:
        """Assign a value to an input."""
        for bit, at in enumerate(self._where[id(Value.cast(port))]):
            self._values[at] = value >> bit & 1
        self._next = None

    def get(self, port: Any) -> int:
        """The value of an output in this cycle."""
        outputs = self._following()[1]
        return sum(outputs[at] << bit for bit, at in enumerate(self._where[id(Value.cast(port))]))

    def tick(self) -> _Tick:
        """Proceed to the next cycle.

        Raises:
            ContractError: the input has not been ready for too many cycles.
        """
        state, outputs = self._following()
        waits = outputs[self._valid] and not self._values[self._consumer]
        self._stalled = 0 if outputs[self._ready] or waits else self._stalled + 1
        if self._stalled > self._limit:
            raise ContractError(f"the input was not ready for {self._stalled} cycles while no output beat waited")
        self._inputs.append(list(self._values))
        self._state, self._next = state, None
        return _Tick()

    def _following(self) -> tuple[list[int], list[int]]:
        if self._next is None:
            self._next = self._step(self._state, self._values + self._effective, 1)
        return self._next
