# SPDX-License-Identifier: BSD-2-Clause
"""The logic of the sliding window: the role of each unit of a beat, from the units around it.

A self-synchronising table needs no state. Whether a unit continues a sequence follows from the units before it, at
most as many as the longest sequence has. So the window is a pipeline without feedback, the same logic for each lane,
with registers after any of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial, reduce
from itertools import chain
from operator import and_, or_
from typing import Self

from amaranth.hdl import Cat, Const, Signal, Value

from utf8fpga.hdl.commented import commented, spelled_units
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.minimise import Function, Word, minimised_word
from utf8fpga.hdl.pipeline import Pipeline, loaded
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, ErrorKind, TableError, cause, spell


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
    """

    table: EncodingTable
    serial: SerialControl

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, table: EncodingTable) -> Self:
        """The functions of `table`.

        Raises:
            TableError: the table does not allow a decoder.
        """
        return cls(table, SerialControl.of(table))

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

    @cached_property
    def comments(self) -> dict[str, str]:
        """What the values of a unit by itself mean in terms of the rows, by the names of their registers."""
        spelled = partial(spelled_units, width=self.table.unit_width)
        found = {"trail": f"A trailing unit, {spelled(self.serial.trails)}."}
        for length in self.lengths:
            leads = spelled(self._leads(length))
            found[f"prefix_{length}"] = f"The upper bits are those of a lead of {length} units, as in {leads}."
            for which, (trails, allowing) in enumerate(self._classes(length)):
                found[f"allows_{length}_{which}"] = (
                    f"With that prefix: {spelled(allowing)}, after which {spelled(trails)} may follow."
                )
                found[f"class_{length}_{which}"] = f"Of a trailing unit: {spelled(trails)}."
        return found

    @cached_property
    def is_longer(self) -> Function:
        """Of a unit that completes a sequence: the sequence has several units."""
        return self.serial.of_unit(self.serial.trails, self.serial.singles)

    @cached_property
    def kind_of_unit(self) -> Word:
        """The cause of an error that a unit has by itself: it starts no sequence, or is a lead, and the next unit is a
        trailing one that the lead does not allow.

        Raises:
            TableError: the cause depends on the next unit.
        """
        serial = self.serial
        kinds = {unit: cause(self.table, [unit], None) for unit in serial.units - serial.allowed[0]}
        for lead, state in serial.leads.items():
            found = {cause(self.table, [lead], trail) for trail in serial.trails - serial.allowed[state]}
            if len(found) > 1:
                raise TableError(
                    f"{self.table.name}: the cause of an error after {spell([lead], self.table.unit_width)} depends on "
                    f"the trailing unit: {', '.join(sorted(kind.name for kind in found))}"
                )
            if found:
                kinds[lead] = found.pop()
        return minimised_word(kinds, max(ErrorKind).bit_length(), self.table.unit_width)

    def trail_classes(self, length: int) -> tuple[Function, ...]:
        """For each class: a trailing unit is in it. No function for a last class of all other trailing units."""
        classes = [trails for trails, _ in self._classes(length)]
        rest = self.serial.trails - frozenset[int]().union(*classes)
        needed = classes if rest or len(classes) > 2 else classes[:-1]
        return tuple(self.serial.of_unit(trails, self.serial.trails - trails) for trails in needed)

    def lead_prefix(self, length: int) -> Function:
        """Those of the unit's upper four bits that are the same in all leads of `length` are as in these."""
        leads = self._leads(length)
        width = self.table.unit_width
        care = reduce(and_, (~(unit ^ min(leads)) for unit in leads)) & (1 << width) - 1
        care &= 0xF << max(width - 4, 0)
        return Function(((care, min(leads) & care),))

    def lead_allows(self, length: int) -> tuple[Function, ...]:
        """Of a unit with the `lead_prefix`: it is a lead of `length` and allows this class to follow."""
        prefix = self.lead_prefix(length)
        alike = {unit for unit in self.serial.units if prefix.compute(unit)}
        return tuple(self.serial.of_unit(allowing, alike - allowing) for _, allowing in self._classes(length))

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The numbers of units for which the code point depends on whether a sequence has more."""
        sources = chain.from_iterable(map(self.sources, range(self.serial.code_point_bits)))
        found = {bound for source in sources for bound in (source.above, source.up_to)}
        return tuple(sorted(bound for bound in found if 0 < bound < self.table.longest))

    @cached_property
    def long_lengths(self) -> tuple[int, ...]:
        """The lengths of sequences beyond all `bounds`, of more than three units."""
        return tuple(n for n in self.lengths if n > max(3, *self.bounds)) if self.bounds else ()

    @cached_property
    def long_bit(self) -> int:
        """The first of the bits of a code point that are 0 unless its sequence has one of `long_lengths`."""
        short = [row.code_points.last for row in self.table.rows if len(row.units) not in self.long_lengths]
        bits = max(REPLACEMENT_CHARACTER, *short).bit_length()
        return min(bits, self.serial.code_point_bits) if self.long_lengths else self.serial.code_point_bits

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
        return self.serial.of_unit(ones, leads.keys() - set(ones))

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


@dataclass(eq=False)
class Lanes:
    """A value of each lane of a beat. A negative lane is in the beats before, counted from their ends."""

    window: Window
    name: str
    comment: str = ""

    def __getitem__(self, lane: int) -> Value:
        return self.window.at(self, lane)


@dataclass(frozen=True)
class Stage:
    """The registers of a window in one stage, or its input.

    Attributes:
        history: values of beats before, by lane and the number of beats in between. Unless stages pause, those other
            than units are 0 at the start of a packet, so that no unit continues a sequence before it.
    """

    name: str
    valid: Value
    last: Value
    values: dict[Lanes, list[Value]] = field(default_factory=dict)
    history: dict[tuple[Lanes, int, int], Signal] = field(default_factory=dict)


class Window:
    """The role of each unit of a beat, except for what depends on the unit after it.

    There are steps from units to sequences, each of which may end in registers.

    Args:
        source: the beat at the input, with the values `valid` and `last`.
        cuts: the steps after which there are registers, see `PipelineStages.steps`.
        first: no unit of this packet came before the first lane; None without pauses, where history says so.
        pauses: for each stage the bit that lets beats advance at the end of a cycle; None: they always advance.
        counts: also compute how many units a sequence needs, for causes.

    Attributes:
        stages: the stages, that at the input first.
        made: all values, in the order in which they were made.
        trail: the unit may continue a sequence.
        continued: it continues a sequence that was open before it.
        completed: it completes a sequence; with `resets_words` instead of it:
        incomplete, short: it completes no sequence, and none of `WindowControl.long_lengths`.
        open: it is part of a sequence that needs more units.
        longer: by number of units, whether that sequence has more.
        needed: with `counts`, bit k: the sequence needs more than k further units.
    """

    needed: Lanes

    def __init__(
        self,
        control: WindowControl,
        pipeline: Pipeline,
        source: Stage,
        units: Sequence[Value],
        present: Sequence[Value],
        cuts: frozenset[str],
        *,
        first: Value | None = None,
        pauses: Sequence[Value] | None = None,
        counts: bool = False,
        resets_words: bool = False,
    ) -> None:
        self.control, self.pipeline, self.lanes, self.cuts = control, pipeline, len(units), cuts
        self.first, self.pauses, self.counts, self.resets_words = first, pauses, counts, resets_words
        self.stages = [source]
        self.made: list[Lanes] = []
        self.unit = self.give("unit", units)
        self.keep = self.give("keep", present)
        self._longer = [n for n in control.lengths if n > 2]
        self._find_features()
        self._find_leads()
        self._join_two()
        self._join_three()
        self._join_rest()

    @property
    def stage(self) -> Stage:
        """The last stage so far."""
        return self.stages[-1]

    @property
    def valid(self) -> Value:
        """A beat is in the last stage."""
        return self.stage.valid

    @property
    def last(self) -> Value:
        """It ends its packet."""
        return self.stage.last

    @property
    def valids(self) -> list[Value]:
        """`valid` of each stage of registers so far."""
        return [stage.valid for stage in self.stages[1:]]

    @property
    def run(self) -> Value:
        """Beats advance from this stage at the end of this cycle: the duplicate of the bit for this stage."""
        assert self.pauses is not None
        return self.pauses[len(self.stages) - 1]

    def give(self, name: str, values: Iterable[Value], comment: str = "") -> Lanes:
        """Add a value of each lane, whose registers have a comment."""
        lanes = Lanes(self, name, comment)
        self.stage.values[lanes] = list(values)
        self.made.append(lanes)
        return lanes

    def each(self, name: str, function: Callable[[int], Value], comment: str = "") -> Lanes:
        """Add a value that is a function of the lane."""
        return self.give(name, map(function, range(self.lanes)), comment)

    def at(self, value: Lanes, lane: int) -> Value:
        """A value in the last stage."""
        if lane >= 0:
            return self.stage.values[value][lane]
        return self._before(value, lane % self.lanes, (-lane - 1) // self.lanes)

    def _before(self, value: Lanes, lane: int, beats: int) -> Signal:
        key, stage = (value, lane, beats), self.stage
        if key not in stage.history:
            current = self._before(value, lane, beats - 1) if beats else stage.values[value][lane]
            name = f"{stage.name}_before{beats + 1}_{value.name}_{lane}"
            kept = commented(
                Signal(len(current), name=name, reset_less=True),
                f"Of the beat before, lane {lane}" + ("." if value is self.unit else "; 0 at the start of a packet."),
            )
            stage.history[key] = kept
            if self.pauses is None:
                of_packet = current if value is self.unit else current & ~stage.last.replicate(len(current))
                self.pipeline.add(kept.eq(of_packet), enable=stage.valid)
            else:
                # A multiplexer in logic: a clock enable would need one more look-up table in front of it.
                self.pipeline.add(loaded(kept, current, stage.valid & self.run))
        return stage.history[key]

    def register(self, name: str, kept: Iterable[Lanes]) -> None:
        """Add a stage of registers with some values."""
        before = self.stage
        valid, last = (Signal(name=f"{name}_{each}", reset_less=True) for each in ("valid", "last"))
        values: dict[Lanes, list[Value]] = {
            each: [
                commented(Signal(len(value), name=f"{name}_{each.name}_{lane}", reset_less=True), each.comment)
                for lane, value in enumerate(before.values[each])
            ]
            for each in kept
        }
        # A multiplexer in logic: a register with a clock enable and a reset would need a look-up table in front of
        # its enable.
        moves = before.valid if self.pauses is None else (before.valid & self.run) | (valid & ~self.run)
        self.pipeline.add(valid.eq(moves))
        self.pipeline.add(
            last.eq(before.last),
            *(new.eq(old) for each in values for new, old in zip(values[each], before.values[each], strict=True)),
            enable=None if self.pauses is None else self.run,
        )
        self.stages.append(Stage(name, valid, last, values))

    def _cut(self, step: str, *kept: Lanes) -> None:
        if step in self.cuts:
            self.register(step, [self.unit, self.keep, *kept])

    def _of_units(self, name: str, function: Callable[[Value], Value], comment: str = "") -> Lanes:
        return self.give(name, map(function, self.stage.values[self.unit]), comment)

    # The classes of the unit by itself.

    def _find_features(self) -> None:
        comments = self.control.comments
        self.trail = self.each("trail", self._trail, comments["trail"])
        self._prefix: dict[int, Lanes] = {}
        self._allows: dict[int, list[Lanes]] = {}
        self._classes: dict[int, list[Lanes]] = {}
        for n in self.control.lengths:
            allows, classes = self.control.lead_allows(n), self.control.trail_classes(n)
            self._prefix[n] = self._of_units(f"prefix_{n}", self.control.lead_prefix(n), comments[f"prefix_{n}"])
            self._allows[n], self._classes[n] = (
                [self._of_units(name, each, comments[name]) for name, each in named.items()]
                for named in (
                    {f"allows_{n}_{which}": each for which, each in enumerate(allows)},
                    {f"class_{n}_{which}": each for which, each in enumerate(classes)},
                )
            )
        self._cut("features", *self.made[2:])

    def _trail(self, lane: int) -> Value:
        # At the start of a packet only the first unit must be prevented from continuing an earlier sequence: then no
        # later unit continues it either.
        values = self.stage.values
        starts_text = self.first if lane == 0 and self.first is not None else Const(0, 1)
        return self.control.serial.is_trail(values[self.unit][lane]) & values[self.keep][lane] & ~starts_text

    # The kind of lead that the unit is, by the classes of units that may follow it.

    def _find_leads(self) -> None:
        self._leads = {
            n: [self.each(f"lead_{n}_{which}", partial(self._lead, n, allows)) for which, allows in enumerate(each)]
            for n, each in self._allows.items()
        }

    def _lead(self, n: int, allows: Lanes, lane: int) -> Value:
        return self._prefix[n][lane] & allows[lane]

    # Whether the unit is the second of a sequence.

    def _join_two(self) -> None:
        self._seconds = {n: self._place("second", n, partial(self._second, n)) for n in self.control.lengths}
        self._firsts = {n: self._place("first", n, partial(_any, self._leads[n])) for n in self.control.lengths}
        self._cut("pairs", self.trail, *self._firsts.values(), *self._seconds.values())

    def _place(self, place: str, length: int, function: Callable[[int], Value]) -> Lanes:
        return self.each(f"{place}_of_{length}", function, f"The unit is the {place} one of a sequence of {length}.")

    def _second(self, n: int, lane: int) -> Value:
        allowed = [lead[lane - 1] for lead in self._leads[n]]
        classes = [each[lane] for each in self._classes[n]]
        if len(classes) < len(allowed):
            classes.append(~classes[0] if classes else Const(1, 1))
        return self.trail[lane] & any_of(map(and_, allowed, classes))

    # Whether the unit is the third of a sequence, and the values that depend on three units.

    def _join_three(self) -> None:
        self._thirds = {n: self._place("third", n, partial(self._third, n)) for n in self._longer}
        self._in_pair = self.each("is_second", partial(_any, self._seconds.values()), "Second unit of a sequence.")
        self._in_three = self.each("is_third", self._is_in_three, "Third unit of a sequence.")
        self._done = self.each("done", self._is_done, "A whole sequence, or the end of one of two or three units.")
        self._opens = self.each("opens", partial(_any, self._firsts.values()), "Lead of a sequence.")
        places = [*self._firsts.values(), *self._seconds.values(), *self._thirds.values()]
        continuing = [third for n, third in self._thirds.items() if n > 3]
        plain = self._in_pair, self._in_three, self._done, self._opens
        self._cut("thirds", self.trail, *plain, *(places if self.counts else continuing))

    def _is_in_three(self, lane: int) -> Value:
        # Not the OR of `_thirds`: synthesis would then put the look-up tables of two registers in a row.
        return any_of(self._seconds[n][lane - 1] for n in self._longer) & self.trail[lane]

    def _third(self, n: int, lane: int) -> Value:
        return self._seconds[n][lane - 1] & self.trail[lane]

    def _is_done(self, lane: int) -> Value:
        ends = [places[n] for places, n in ((self._seconds, 2), (self._thirds, 3)) if n in places]
        return self.control.serial.is_single(self.unit[lane]) | _any(ends, lane)

    # The remaining values, which depend on up to all units of a sequence.

    def _join_rest(self) -> None:
        before = len(self.made)
        bounds = [bound for bound in self.control.bounds if bound > 1]
        self.longer = {
            bound: self.each(f"longer_{bound}", partial(self._is_longer, bound), f"More than {bound} units.")
            for bound in bounds
        }
        self.continued = self.each("continued", self._is_continued, "The unit continues the sequence before it.")
        if self.resets_words:
            # A reset from `completed` would need an inverter in front of it.
            self.incomplete = self.each(
                "incomplete", lambda lane: ~self._is_completed(lane), "The unit does not end a well-formed sequence."
            )
            self.short = self.each("short", self._is_short, "The unit ends none of the longest well-formed sequences.")
        else:
            self.completed = self.each("completed", self._is_completed, "The unit ends a well-formed sequence.")
        self.open = self.each("open", self._is_open, "The sequence that the unit is in needs more units.")
        if self.counts:
            self.needed = self.each("needed", self._needed)
        self._cut("ends", *self.made[before:])

    def _so_far(self, n: int, count: int, lane: int) -> Value:
        """The unit is number `count` of a sequence of `n`."""
        if count <= 3:
            return (self._firsts, self._seconds, self._thirds)[count - 1][n][lane]
        trails = (self.trail[lane - k] for k in reversed(range(count - 3)))
        return self._thirds[n][lane - count + 3] & all_of(trails)

    def _is_continued(self, lane: int) -> Value:
        further = (self._so_far(n, count, lane) for n in self._longer for count in range(4, n + 1))
        return self._in_pair[lane] | self._in_three[lane] | any_of(further)

    def _is_completed(self, lane: int) -> Value:
        return self._done[lane] | any_of(self._so_far(n, n, lane) for n in self._longer if n > 3)

    def _is_short(self, lane: int) -> Value:
        return ~any_of(self._so_far(n, n, lane) for n in self.control.long_lengths)

    def _is_open(self, lane: int) -> Value:
        # A second unit is `_done` if its sequence needs no more.
        pair_open = self._in_pair[lane] & ~self._done[lane]
        later = (self._so_far(n, count, lane) for n in self._longer for count in range(3, n))
        return self._opens[lane] | pair_open | any_of(later)

    def _is_longer(self, bound: int, lane: int) -> Value:
        # The value is used only of a unit that completes a sequence.
        if bound == 2:
            return self.control.is_longer(self.unit[lane]) & ~self._in_pair[lane]
        if bound == 3:
            return ~self._done[lane]
        return any_of(self._so_far(n, n, lane) for n in self.control.lengths if n > bound)

    def _needed(self, lane: int) -> Value:
        parts = [(self._so_far(n, count, lane), n - count) for n in self.control.lengths for count in range(1, n)]
        return Cat(any_of(part for part, more in parts if more > k) for k in range(self.control.table.longest - 1))

    # What a unit completes.

    def completes(self, lane: int) -> Value:
        """Whether a unit completes a sequence."""
        return ~self.incomplete[lane] if self.resets_words else self.completed[lane]

    def word(self, lane: int, *, by_reset: bool = False) -> Value:
        """The code point of the sequence that a unit completes; if it completes none, U+FFFD.

        Args:
            by_reset: without what `resets` do, for which the window must have `resets_words`.
        """
        completed = self.completes(lane)
        bits = []
        for bit in range(self.control.serial.code_point_bits):
            sources = self.control.sources(bit)
            if by_reset and bit >= self.control.long_bit:
                value = any_of(source.value(self.unit[lane - source.back]) for source in sources)
            else:
                value = any_of(self._part(source, lane) for source in sources)
            if not by_reset:
                value = value | ~completed if REPLACEMENT_CHARACTER >> bit & 1 else value & completed
            bits.append(value)
        return Cat(*bits)

    def resets(self, lane: int, word: Value) -> list[tuple[Value, Value, int]]:
        """The resets of the registers of a `word`, which need no look-up table: each with the bits and their value."""
        bits, start = self.control.serial.code_point_bits, self.control.long_bit
        found = [(self.incomplete[lane], word[:start], REPLACEMENT_CHARACTER)]
        return [*found, (self.short[lane], word[start:bits], 0)] if start < bits else found

    def _part(self, source: Source, lane: int) -> Value:
        """A bit of a unit where it is the source of a bit of the code point."""
        part = source.value(self.unit[lane - source.back])
        for bound, wanted in ((source.above, True), (source.up_to, False)):
            if 0 < bound < self.control.table.longest:
                counted = self.control.is_longer(self.unit[lane]) if bound == 1 else self.longer[bound][lane]
                part = part & (counted if wanted else ~counted)
        return part


def _any(values: Iterable[Lanes], lane: int) -> Value:
    return any_of(each[lane] for each in values)
