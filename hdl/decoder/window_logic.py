# SPDX-License-Identifier: BSD-2-Clause
"""The logic of the sliding window: the role of each unit of a beat, from the units around it.

A self-synchronising table needs no state. Whether a unit continues a sequence follows from the units before it, at
most as many as the longest sequence has. So the window is a pipeline without feedback, the same logic for each lane,
with registers after any of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial, reduce
from itertools import chain
from operator import and_, or_

from amaranth.hdl import Cat, Const, Signal, Value

from utf8fpga.hdl.decoder.property_logic import PropertyLogic, grouped
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.minimise import Function, minimise
from utf8fpga.hdl.pipeline import Pipeline
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, TableError
from utf8fpga.model.properties import CharacterProperty

__all__ = [
    "Beat",
    "WindowControl",
    "any_of",
    "build_window",
    "flag",
    "flag_names",
    "product_names",
    "word",
]


def any_of(values: Iterable[Value]) -> Value:
    """The OR of one-bit values; 0 of none."""
    return reduce(or_, values, Const(0, 1))


def all_of(values: Iterable[Value]) -> Value:
    """The AND of one-bit values; 1 of none."""
    return reduce(and_, values, Const(1, 1))


@dataclass(frozen=True)
class Source:
    """A bit of a unit that is the source of a bit of the code point.

    Attributes:
        back: the number of units between it and the end of the sequence.
        place: the bit of that unit.
        above, up_to: it applies in sequences of more than `above` and up to `up_to` units. Where the bit is 0 anyway
            the bounds are wider, so that fewer inputs are needed.
        sum: the bit of the unit with what is added to its payload, as a function of the unit; None if nothing is.
    """

    back: int
    place: int
    above: int
    up_to: int
    sum: Function | None = None

    def value(self, unit: Value) -> Value:
        """The bit for a unit."""
        return unit[self.place] if self.sum is None else self.sum(unit)


@dataclass(frozen=True)
class WindowControl:
    """The functions of the window of one encoding table, derived from its rows.

    A sequence of n units is a lead that opens it, a second unit that the lead allows, and any further trailing units.
    For each n the trailing units fall into classes such that a lead of n units allows all units of a class or none;
    for UTF-8 there are at most two, which differ in one bit.

    Args:
        table: the encoding form.
        serial: the functions of its serial decoder.
    """

    table: EncodingTable
    serial: SerialControl

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable) -> WindowControl:
        """The functions of `table`.

        Raises:
            TableError: the table does not allow a parallel decoder: for the reasons of the serial decoder, or because
                units after the second one are constrained.
        """
        control = WindowControl(table, SerialControl.of(table))
        # A state after a lead may also be reached by later units.
        for index in sorted(control.serial.later_states):
            state = control.serial.dfa.states[index]
            if control.serial.allowed[index] != control.serial.trails:
                raise TableError(
                    f"{table.name}: a parallel decoder requires constraints on the second unit of a sequence only, "
                    f"but in state {state.name!r} the next unit is, too"
                )
        return control

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the sequences of several units."""
        return tuple(sorted(length for length in self.table.patterns if length > 1))

    def _leads(self, length: int) -> dict[int, frozenset[int]]:
        """For each lead of sequences of `length` units the units that may follow it."""
        serial = self.serial
        return {
            unit: serial.allowed[state]
            for unit, state in serial.leads.items()
            if serial.dfa.states[state].remaining[0] == length - 1
        }

    @cache  # noqa: B019 - as many entries as lengths, and the tables are few
    def _classes(self, length: int) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
        """Classes of trailing units that no lead of `length` distinguishes, each with the leads that allow it."""
        leads = self._leads(length)
        groups: dict[frozenset[int], set[int]] = {}
        for trail in self.serial.trails:
            allowing = frozenset(lead for lead, allowed in leads.items() if trail in allowed)
            groups.setdefault(allowing, set()).add(trail)
        pairs = [(frozenset(trails), allowing) for allowing, trails in groups.items()]
        return tuple(sorted((pair for pair in pairs if pair[1]), key=lambda pair: min(pair[0])))

    def _of_unit(self, on: Iterable[int], off: Iterable[int]) -> Function:
        return minimise(on, off, self.table.unit_width)

    @cached_property
    def is_trail(self) -> Function:
        """The unit is not the first one in some sequence."""
        return self._of_unit(self.serial.trails, self.serial.units - self.serial.trails)

    @cached_property
    def is_single(self) -> Function:
        """The unit is a whole sequence."""
        return self.serial.is_single

    @cached_property
    def is_longer(self) -> Function:
        """Of a unit that completes a sequence: the sequence has several units."""
        return self._of_unit(self.serial.trails, self.serial.singles)

    def told_classes(self, length: int) -> tuple[Function, ...]:
        """For each class: a trailing unit is in it. No function for a last class of all other trailing units."""
        classes = [trails for trails, _ in self._classes(length)]
        rest = self.serial.trails - frozenset[int]().union(*classes)
        told = classes if rest or len(classes) > 2 else classes[:-1]
        return tuple(self._of_unit(trails, self.serial.trails - trails) for trails in told)

    def _prefix(self, length: int) -> Function:
        """The upper four bits that are the same in all leads of `length`, as a product."""
        leads = self._leads(length)
        width = self.table.unit_width
        care = reduce(and_, (~(unit ^ min(leads)) for unit in leads)) & (1 << width) - 1
        care &= 0xF << max(width - 4, 0)
        return Function(((care, min(leads) & care),))

    def lead_prefix(self, length: int) -> Function:
        """The unit's upper bits are those of a lead of `length`."""
        return self._prefix(length)

    def lead_allows(self, length: int) -> tuple[Function, ...]:
        """Of a unit with the `lead_prefix`: it is a lead of `length` and allows this class to follow."""
        prefix = self._prefix(length)
        alike = {unit for unit in self.serial.units if prefix.compute(unit)}
        return tuple(self._of_unit(allowing, alike - allowing) for _, allowing in self._classes(length))

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The numbers of units for which the code point depends on whether a sequence has more."""
        sources = chain.from_iterable(map(self.sources, range(self.serial.code_point_bits)))
        found = {bound for source in sources for bound in (source.above, source.up_to)}
        return tuple(sorted(bound for bound in found if 0 < bound < self.table.longest))

    def sources(self, bit: int) -> list[Source]:
        """The bits of units that a bit of the code point of a complete sequence depends on."""
        trail_bits = self.serial.trail_bits
        users: dict[tuple[int, int, int], set[int]] = {}
        for length, pattern in self.table.patterns.items():
            back = min(bit // trail_bits, length - 1) if trail_bits else length - 1
            place = bit - back * trail_bits
            with_sum = length if pattern.base and back == length - 1 else 0
            first_bits = self.serial.first_payload_bits(length)
            if place < (first_bits if back == length - 1 else trail_bits):
                users.setdefault((back, place, with_sum), set()).add(length)
        return [self._source(back, place, lengths, with_sum) for (back, place, with_sum), lengths in users.items()]

    def _sum(self, length: int, place: int) -> Function:
        """A bit of the payload of a lead, with what is added to it."""
        leads = self._leads(length)
        ones = [unit for unit in leads if self.serial.first_payload(unit, length) >> place & 1]
        return self._of_unit(ones, leads.keys() - set(ones))

    def _source(self, back: int, place: int, lengths: set[int], with_sum: int) -> Source:
        def harmless(length: int) -> bool:
            if length <= back or with_sum:
                return False
            units = self._units_at(length, back)
            return all(not unit >> place & 1 for unit in units)

        forbidden = [n for n in self.table.patterns if n not in lengths and not harmless(n)]
        below = [n for n in forbidden if n < min(lengths)]
        above = [n for n in forbidden if n > max(lengths)]
        if len(below) + len(above) != len(forbidden):
            raise TableError(f"{self.table.name}: sequences of {forbidden} units have no payload where others do")
        bounds = max(below, default=0), min(above, default=self.table.longest + 1) - 1
        return Source(back, place, *bounds, self._sum(with_sum, place) if with_sum else None)

    def _units_at(self, length: int, back: int) -> Iterable[int]:
        """The units that can be `back` units before the end of a sequence of `length`."""
        if back < length - 1:
            return self.serial.trails
        return self.serial.singles if length == 1 else self._leads(length)


@dataclass
class Beat:
    """The values of one beat between two stages of registers, lane by lane.

    Attributes:
        pipeline: the pipeline that has its registers.
        lanes: units per beat.
        valid: a beat is in this stage.
        values: for each name a value of each lane.
        last: the packet ends after this beat.
        pauses: for each stage the bit that lets beats advance at the end of a cycle; None: they always advance.
        stage: the name of the stage.
        valids: `valid` of each stage of registers so far.
        before: the same beat in the stage before.
        history: values of beats before this one, by name, lane and the number of beats in between. Unless stages pause,
            those other than units are 0 at the start of a packet, so that no unit continues a sequence before it.
    """

    pipeline: Pipeline
    lanes: int
    valid: Value
    values: dict[str, Sequence[Value]]
    last: Value
    pauses: Sequence[Value] | None = None
    stage: str = "input"
    valids: tuple[Signal, ...] = ()
    before: Beat | None = None
    history: dict[tuple[str, int, int], Signal] = field(default_factory=dict)

    def at(self, name: str, place: int) -> Value:
        """The value of a lane; a negative place is in the beats before, counted from their ends."""
        if place >= 0:
            return self.values[name][place]
        return self._before(name, place % self.lanes, (-place - 1) // self.lanes)

    def _before(self, name: str, lane: int, beats: int) -> Signal:
        key = name, lane, beats
        if key not in self.history:
            current = self._before(name, lane, beats - 1) if beats else self.values[name][lane]
            kept = Signal(len(current), name=f"{self.stage}_before{beats + 1}_{name}_{lane}", reset_less=True)
            self.history[key] = kept
            if self.pauses is None:
                of_packet = current if name == "unit" else current & ~self.last.replicate(len(current))
                self.pipeline.add(kept.eq(of_packet), enable=self.valid)
            else:
                # A multiplexer in logic: a clock enable would need one more look-up table in front of it.
                moves = (self.valid & self.run).replicate(len(kept))
                self.pipeline.add(kept.eq((current & moves) | (kept & ~moves)))
        return self.history[key]

    @property
    def run(self) -> Value:
        """Beats advance from this stage at the end of this cycle: the duplicate of the bit for this stage."""
        assert self.pauses is not None
        return self.pauses[len(self.valids)]

    def register(self, stage: str, names: Iterable[str]) -> Beat:
        """The same beat one cycle later, with the values of `names`."""
        valid = Signal(name=f"{stage}_valid", reset_less=True)
        last = Signal(name=f"{stage}_last", reset_less=True)
        kept: dict[str, Sequence[Value]] = {
            name: [
                Signal(len(value), name=f"{stage}_{name}_{lane}", reset_less=True)
                for lane, value in enumerate(self.values[name])
            ]
            for name in names
        }
        # A multiplexer in logic: a register with a clock enable and a reset would need a look-up table in front of
        # its enable.
        moves = self.valid if self.pauses is None else (self.valid & self.run) | (valid & ~self.run)
        self.pipeline.add(valid.eq(moves))
        self.pipeline.add(
            last.eq(self.last),
            *(new.eq(old) for name in kept for new, old in zip(kept[name], self.values[name], strict=True)),
            enable=None if self.pauses is None else self.run,
        )
        valids = (*self.valids, valid)
        return Beat(self.pipeline, self.lanes, valid, kept, last, self.pauses, stage, valids, self)

    @property
    def stages(self) -> list[Beat]:
        """The beat in each stage of registers, that at the input first."""
        return [*(self.before.stages if self.before else []), self]


def build_window(
    control: WindowControl,
    beat: Beat,
    cuts: frozenset[str],
    *,
    spans: bool = False,
    properties: PropertyLogic | None = None,
) -> Beat:
    """The role of each unit of a beat, except for what depends on the unit after it.

    Args:
        control: the table's functions.
        beat: the values `unit`, `keep` (the unit is present) and, in its first lane only, `first`
            (no unit of this packet came before); without pauses `history` says so.
        cuts: the steps after which there are registers, see `PipelineStages.steps`.
        spans: also compute the position of each unit in its sequence, for causes and lengths.
        properties: also compute the partial sums of these properties.

    Returns:
        The beat after the last step with registers, with the values `unit`, `keep`, `continued` (the unit continues a
        sequence that was open before it), `completed` (it completes a sequence), `open` (it is part of a sequence
        that needs more units) and `longer_n` (that sequence has more than n units). With `spans` also `length` (units
        of the sequence so far) and `needed` (bit k: more than k further units are needed). With `properties` also those
        of `flag_names` for each property, and `breaks` (the unit before begins an encoded surrogate, which this unit
        breaks).
    """
    window = _Window(control, beat, cuts, spans, properties)
    window.find_features()
    window.find_leads()
    window.join_two()
    window.join_three()
    window.join_rest()
    return window.beat


class _Window:
    """The steps from units to sequences, each of which may end in registers."""

    def __init__(
        self, control: WindowControl, beat: Beat, cuts: frozenset[str], spans: bool, properties: PropertyLogic | None
    ) -> None:
        self.control = control
        self.beat = beat
        self.cuts = cuts
        self.spans = spans
        self.properties = properties or _NO_PROPERTIES
        self.lengths = control.lengths
        self.longer = [n for n in control.lengths if n > 2]
        self.leads = {f"lead_{n}_{which}": (n, which) for n in self.lengths for which in self._numbers(n)}
        self.firsts = {f"first_of_{n}": n for n in self.lengths}
        self.seconds = {f"second_of_{n}": n for n in self.lengths}
        self.thirds = {f"third_of_{n}": n for n in self.longer}

    def _numbers(self, n: int) -> range:
        return range(len(self.control.lead_allows(n)))

    def _give(self, values: Mapping[str, Callable[[int], Value]]) -> list[str]:
        """Add values, each of them a function of the lane."""
        for name, function in values.items():
            self.beat.values[name] = [function(lane) for lane in range(self.beat.lanes)]
        return list(values)

    def _cut(self, step: str, *names: str) -> None:
        if step in self.cuts:
            self.beat = self.beat.register(step, ["unit", "keep", *names])

    def _any(self, names: Iterable[str], lane: int) -> Value:
        return any_of(self.beat.at(name, lane) for name in names)

    def find_features(self) -> None:
        """The classes of the unit by itself."""
        features: dict[str, Function] = {}
        for n in self.lengths:
            features[f"prefix_{n}"] = self.control.lead_prefix(n)
            features |= {f"allows_{n}_{which}": f for which, f in enumerate(self.control.lead_allows(n))}
            features |= {f"class_{n}_{which}": f for which, f in enumerate(self.control.told_classes(n))}
        units = self.beat.values["unit"]
        self._give({"trail": self._trail})
        for name, function in features.items():
            self.beat.values[name] = [function(unit) for unit in units]
        digits = {f"digit_{number}": digit for number, digit in enumerate(self.properties.digits)}
        for name, digit in digits.items():
            self.beat.values[name] = [digit(unit) for unit in units]
        self.digits = list(digits)
        self._cut("features", "trail", *features, *digits)
        self.classes = [name for name in features if name.startswith("class")]

    def _trail(self, lane: int) -> Value:
        # At the start of a packet only the first unit must be prevented from continuing an earlier sequence: then no
        # later unit continues it either.
        values = self.beat.values
        starts_text = values["first"][0] if lane == 0 and "first" in values else Const(0, 1)
        return self.control.is_trail(values["unit"][lane]) & values["keep"][lane] & ~starts_text

    def find_leads(self) -> None:
        """The kind of lead that the unit is, by the classes of units that may follow it."""
        self._give({name: partial(self._lead, *lead) for name, lead in self.leads.items()})
        self._cut("leads", "trail", *self.classes, *self.leads, *self.digits)

    def _lead(self, n: int, which: int, lane: int) -> Value:
        return self.beat.at(f"prefix_{n}", lane) & self.beat.at(f"allows_{n}_{which}", lane)

    def join_two(self) -> None:
        """Whether the unit is the second of a sequence."""
        self._give({name: partial(self._second, n) for name, n in self.seconds.items()})
        self._give({name: partial(self._first, n) for name, n in self.firsts.items()})
        matches = {f"match_{n}": partial(self._match, n) for n in range(len(self.properties.units))}
        self._cut("pairs", "trail", *self.firsts, *self.seconds, *self._give(matches))

    def _match(self, number: int, lane: int) -> Value:
        return self.properties.unit(number, lambda digit: self.beat.at(f"digit_{digit}", lane))

    def _second(self, n: int, lane: int) -> Value:
        allowed = [self.beat.at(name, lane - 1) for name, (length, _) in self.leads.items() if length == n]
        told = [self.beat.at(f"class_{n}_{which}", lane) for which in range(len(self.control.told_classes(n)))]
        if len(told) < len(allowed):
            told.append(~told[0] if told else Const(1, 1))
        return self.beat.at("trail", lane) & any_of(map(and_, allowed, told))

    def join_three(self) -> None:
        """Whether the unit is the third of a sequence, and the values that depend on three units."""
        self._give({name: partial(self._third, n) for name, n in self.thirds.items()})
        plain: dict[str, Callable[[int], Value]] = {
            "in_pair": partial(self._any, list(self.seconds)),
            "in_three": self._in_three,
            "done": self._done,
            "opens": partial(self._any, list(self.firsts)),
        }
        self._give(plain)
        places = [*self.firsts, *self.seconds, *self.thirds]
        continuing = [name for name, n in self.thirds.items() if n > 3]
        products = {f"product_{n}": partial(self._product, n) for n in range(len(self.properties.products))}
        self._cut("thirds", "trail", *plain, *(places if self.spans else continuing), *self._give(products))

    def _product(self, number: int, lane: int) -> Value:
        return self.properties.product(number, lambda back, condition: self.beat.at(f"match_{condition}", lane - back))

    def _first(self, n: int, lane: int) -> Value:
        return self._any((name for name, (length, _) in self.leads.items() if length == n), lane)

    def _in_three(self, lane: int) -> Value:
        # Not the OR of `thirds`: synthesis would then put the look-up tables of two registers in a row.
        seconds = (self.beat.at(f"second_of_{n}", lane - 1) for n in self.longer)
        return any_of(seconds) & self.beat.at("trail", lane)

    def _third(self, n: int, lane: int) -> Value:
        return self.beat.at(f"second_of_{n}", lane - 1) & self.beat.at("trail", lane)

    def _done(self, lane: int) -> Value:
        ends = [name for name in ("second_of_2", "third_of_3") if name in self.beat.values]
        return self.control.is_single(self.beat.at("unit", lane)) | self._any(ends, lane)

    def join_rest(self) -> None:
        """The remaining values, which depend on up to all units of a sequence."""
        found: dict[str, Callable[[int], Value]] = {
            f"longer_{bound}": partial(self._is_longer, bound) for bound in self.control.bounds if bound > 1
        }
        found |= {"continued": self._continued, "completed": self._completed, "open": self._is_open}
        if self.spans:
            found |= {"length": self._length, "needed": self._needed}
        for each in self.properties.sums:
            names = product_names(self.properties, each)
            groups = zip(flag_names(self.properties, each), grouped(names), strict=True)
            found |= {name: partial(self._any, group) for name, group in groups}
        if self.properties.breaks:
            found["breaks"] = self._breaks
        self._cut("ends", *self._give(found))

    def _breaks(self, lane: int) -> Value:
        # The unit is in the same packet as the one before if it is a `trail`.
        names = (f"product_{number}" for number in self.properties.breaks)
        return self.beat.at("trail", lane) & self._any(names, lane)

    def _so_far(self, n: int, count: int, lane: int) -> Value:
        """The unit is number `count` of a sequence of `n`."""
        if count <= 3:
            return self.beat.at(f"{('first', 'second', 'third')[count - 1]}_of_{n}", lane)
        trails = (self.beat.at("trail", lane - k) for k in reversed(range(count - 3)))
        return self.beat.at(f"third_of_{n}", lane - count + 3) & all_of(trails)

    def _continued(self, lane: int) -> Value:
        further = (self._so_far(n, count, lane) for n in self.longer for count in range(4, n + 1))
        return self.beat.at("in_pair", lane) | self.beat.at("in_three", lane) | any_of(further)

    def _completed(self, lane: int) -> Value:
        return self.beat.at("done", lane) | any_of(self._so_far(n, n, lane) for n in self.longer if n > 3)

    def _is_open(self, lane: int) -> Value:
        # A second unit is `done` if its sequence needs no more.
        pair_open = self.beat.at("in_pair", lane) & ~self.beat.at("done", lane)
        later = (self._so_far(n, count, lane) for n in self.longer for count in range(3, n))
        return self.beat.at("opens", lane) | pair_open | any_of(later)

    def _is_longer(self, bound: int, lane: int) -> Value:
        # The value is used only of a unit that completes a sequence.
        if bound == 2:
            return self.control.is_longer(self.beat.at("unit", lane)) & ~self.beat.at("in_pair", lane)
        if bound == 3:
            return ~self.beat.at("done", lane)
        return any_of(self._so_far(n, n, lane) for n in self.lengths if n > bound)

    def _length(self, lane: int) -> Value:
        parts = [(self._so_far(n, count, lane), count) for n in self.lengths for count in range(2, n + 1)]
        alone = ~any_of(part for part, _ in parts)
        bits = range(self.control.table.longest.bit_length())
        return Cat(any_of(part for part, count in [(alone, 1), *parts] if count >> bit & 1) for bit in bits)

    def _needed(self, lane: int) -> Value:
        parts = [(self._so_far(n, count, lane), n - count) for n in self.lengths for count in range(1, n)]
        return Cat(any_of(part for part, more in parts if more > k) for k in range(self.control.table.longest - 1))


_NO_PROPERTIES = PropertyLogic((), (), (), {}, ())


def product_names(logic: PropertyLogic, wanted: CharacterProperty) -> list[str]:
    """The names of the products of a property."""
    return [f"product_{number}" for number in logic.sums[wanted]]


def flag_names(logic: PropertyLogic, wanted: CharacterProperty) -> list[str]:
    """The names of the partial sums of a property."""
    return [f"{wanted.field}_{number}" for number, _ in enumerate(grouped(logic.sums[wanted]))]


def flag(logic: PropertyLogic, wanted: CharacterProperty, beat: Beat, lane: int) -> Value:
    """Whether a unit completes a sequence whose code point has a property."""
    return beat.at("completed", lane) & any_of(beat.at(name, lane) for name in flag_names(logic, wanted))


def word(control: WindowControl, beat: Beat, lane: int, *, replacement: bool) -> Value:
    """The code point of the sequence that a unit completes; if it completes none, U+FFFD with `replacement`."""
    completed = beat.at("completed", lane)
    bits = []
    for bit in range(control.serial.code_point_bits):
        parts = []
        for source in control.sources(bit):
            part = source.value(beat.at("unit", lane - source.back))
            for bound, wanted in ((source.above, True), (source.up_to, False)):
                if 0 < bound < control.table.longest:
                    counted = (
                        control.is_longer(beat.at("unit", lane)) if bound == 1 else beat.at(f"longer_{bound}", lane)
                    )
                    part = part & (counted if wanted else ~counted)
            parts.append(part)
        value = any_of(parts)
        if replacement:
            value = value | ~completed if REPLACEMENT_CHARACTER >> bit & 1 else value & completed
        bits.append(value)
    return Cat(*bits)
