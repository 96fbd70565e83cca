# SPDX-License-Identifier: BSD-2-Clause
"""The window: a pipeline that finds what each unit of a beat is in its sequence; its logic is in `window_logic`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import commented, named
from utf8fpga.hdl.decoder.window_logic import WindowControl
from utf8fpga.hdl.minimise import Function
from utf8fpga.hdl.registers import delayed, follow
from utf8fpga.model import EncodingTable

STEPS = ("features", "pairs", "thirds", "ends")
"""The steps from units to sequences: classes of a unit by itself, second units, third units, all further ones."""

_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def window_cuts(lanes: int, optimize: str, *, packed: bool = False) -> tuple[str, ...]:
    """The steps of `STEPS` with registers behind them, for ``area``, or for the speed of a device's clock network.

    Args:
        packed: a packer is behind the window; its nets pull neighbouring lanes apart.
    """
    if optimize == "area":
        return ()
    if lanes <= 4:
        return ("pairs", "ends")
    return STEPS if packed or lanes > 16 else ("features", "pairs", "ends")


def any_of(values: Iterable[Value]) -> Value:
    """The OR of vectors, bit by bit; 0 of none."""
    several = list(values)
    return reduce(or_, several) if several else Const(0, 1)


class _Lanes(dict[str, Value]):
    """The values of a beat in the stage that the window has reached, by name, each a vector over the lanes.

    Args:
        beat: `units`, `keep`, `last` and `valid` of the beat at the input.
    """

    def __init__(self, m: Module, cuts: Collection[str], beat: dict[str, Value]) -> None:
        super().__init__(beat)
        self.m, self.cuts = m, cuts
        self._comments: dict[str, str] = {}
        self._has_names, self._step, self._unit_bits = False, "in", dict[int, Value]()

    def run(self, step: str, find: Callable[[_Lanes], None]) -> None:
        """A step, with registers for all its values, of which only `valid` has a reset; or with named signals."""
        self._has_names = step not in self.cuts
        find(self)
        if step in self.cuts:
            self._step, self._unit_bits = step, {}
            for name, value in self.items():
                register = delayed(self.m, value, f"{step}_{name}", reset_less=name != "valid")
                self[name] = commented(register, self._comments.get(name, ""))

    def add(self, name: str, value: Value, comment: str = "", *, signal: str = "") -> None:
        """A new value, the comment for its register or signal, and the name of its signal, if that is another one."""
        self[name] = named(self.m, signal or name, value, comment) if self._has_names else value
        self._comments[name] = comment

    def unit_bit(self, bit: int) -> Value:
        """A bit of the unit in each lane."""
        if bit not in self._unit_bits:
            width = len(self["units"]) // len(self["keep"])
            self._unit_bits[bit] = named(self.m, f"{self._step}_bit_{bit}", self["units"][bit::width])
        return self._unit_bits[bit]

    def before(self, name: str, value: Value) -> Value:
        """The value of the unit before, in each lane; 0 for the first unit of a packet."""
        kept = Signal(name=f"{name}_before", reset_less=False)
        commented(kept, "Of the last lane of the beat before; 0 at the start of a packet.")
        with self.m.If(self["valid"]):
            self.m.d.sync += kept.eq(value[-1] & ~self["last"])
        return Cat(kept, value)[: len(value)]


class Window(wiring.Component):
    """What each unit of a beat is in its sequence.

    Throughput: a beat per cycle. Latency: `latency` cycles, one for each step with registers.
    The window never pauses.

    A reset discards the beats in the window, and the next beat begins a packet.

    Args:
        table: the encoding form.
        lanes: units per beat.
        cuts: the steps of `STEPS` with registers behind them.
        load_lanes: the lanes with a port ``load_N``.

    Attributes:
        reach: the units of the longest sequence in front of its last one.
        bounds: the numbers `N` of the ports `longer_N`: from 1 up to `reach`.
        loads: the ports ``load_N``.

    Ports:
        in_units, in_keep, in_last, in_valid: a beat, the unit of lane 0 in the low bits. Null beats must not be valid.
        units, keep, last, valid: the same beat `latency` cycles later, with these vectors. They have a bit per lane and
            are defined where `keep` is 1:
        continued: the unit continues the sequence of the unit before it; 0 where `keep` is 0.
        completed: it ends a well-formed sequence.
        is_open: the sequence that the unit is in needs more units.
        head: it is the third unit of a sequence of four.
        longer_1, longer_2: a sequence that the unit completes has more units than that; also defined where the unit is
            the third one or a later one of its sequence.
        longer_N: the unit completes a sequence of more than N units, N at least 3.
        number_N: it is unit number N of its sequence, from 2 on.
        load_N: a duplicate of the register `valid` for a group of lanes, of which N is the first.
        units_before: the `reach` units before this beat, the last one in the high bits; undefined at the start of a
            packet.

    Raises:
        TableError: see `WindowControl.of`.
    """

    def __init__(self, table: EncodingTable, lanes: int, cuts: Collection[str], load_lanes: Iterable[int] = ()) -> None:
        self.table, self.lanes, self.cuts = table, lanes, frozenset(cuts)
        self.control = WindowControl.of(table)
        self.latency, self.reach = len(self.cuts), table.longest - 1
        self.bounds = range(1, table.longest)
        beat = {"units": table.unit_width * lanes, "keep": lanes, "last": 1, "valid": 1}
        roles = ["continued", "completed", "is_open", "head"]
        roles += [f"longer_{bound}" for bound in self.bounds]
        roles += [f"number_{count}" for count in range(2, table.longest + 1)]
        self._outputs = beat | dict.fromkeys(roles, lanes)
        super().__init__(
            {f"in_{name}": In(width) for name, width in beat.items()}
            | {name: Out(width) for name, width in self._outputs.items()}
            | {"units_before": Out(table.unit_width * self.reach)}
            | {f"load_{lane}": Out(1) for lane in load_lanes}
        )
        self.loads = [getattr(self, f"load_{lane}") for lane in load_lanes]
        for load in self.loads:
            load.attrs["keep"] = 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat = {name: getattr(self, f"in_{name}") for name in ("units", "keep", "last", "valid")}
        lanes = _Lanes(m, self.cuts, beat)
        steps = (self._classify, self._find_pairs, self._find_thirds, self._find_ends)
        for step, find in zip(STEPS, steps, strict=True):
            lanes.run(step, find)
        m.d.comb += [getattr(self, name).eq(lanes[name]) for name in self._outputs]
        kept = Signal(len(self.units_before), name="units_before_beat", reset_less=True)
        with m.If(self.valid):
            m.d.sync += kept.eq(Cat(kept, self.units)[-len(kept) :])
        m.d.comb += self.units_before.eq(kept)
        return m

    def _each(self, lanes: _Lanes, function: Function) -> Value:
        """A function of the unit in each lane, as one of vectors over the lanes."""
        bits = range(self.table.unit_width)
        return function([lanes.unit_bit(bit) if function.support >> bit & 1 else Const(0, self.lanes) for bit in bits])

    def _classify(self, lanes: _Lanes) -> None:
        """The classes of a unit by itself: how leads begin, which units each of them allows, and trailing units."""
        control = self.control
        functions = {"trail": control.is_trail}
        for n in control.lengths:
            functions[f"prefix_{n}"] = control.lead_prefix(n)
            functions |= {f"allows_{n}_{which}": each for which, each in enumerate(control.lead_allows(n))}
            functions |= {f"class_{n}_{which}": each for which, each in enumerate(control.trail_classes(n))}
        for name, function in functions.items():
            lanes.add(name, self._each(lanes, function), control.comments[name])
        lanes.add("trail", lanes["trail"] & lanes["keep"], control.comments["trail"], signal="trail_kept")

    def _find_pairs(self, lanes: _Lanes) -> None:
        """Leads, and the second units of sequences."""
        take = lanes.pop
        for n in self.control.lengths:
            prefix = take(f"prefix_{n}")
            leads = [prefix & take(f"allows_{n}_{which}") for which in range(len(self.control.lead_allows(n)))]
            classes = [take(f"class_{n}_{which}") for which in range(len(self.control.trail_classes(n)))]
            if len(classes) < len(leads):
                # The last class has all other trailing units.
                classes.append(~classes[0] if classes else lanes["trail"])
            allowed = [lanes.before(f"lead_{n}_{which}", lead) for which, lead in enumerate(leads)]
            pairs = any_of(lead & trail for lead, trail in zip(allowed, classes, strict=True))
            _add_place(lanes, 1, n, any_of(leads))
            _add_place(lanes, 2, n, lanes["trail"] & pairs)

    def _find_thirds(self, lanes: _Lanes) -> None:
        """The third units of sequences, and what depends on three units."""
        lengths = self.control.lengths
        long = [n for n in lengths if n > 2]
        for n in long:
            _add_place(lanes, 3, n, lanes.before(_place(2, n), lanes[_place(2, n)]) & lanes["trail"])
        single = self._each(lanes, self.control.is_single)
        ends = [lanes[_place(n, n)] for n in lengths if n <= 3]
        lanes.add("done", any_of([single, *ends]), "A whole sequence, or the end of one of two or three units.")
        lanes.add("opens", any_of(lanes[_place(1, n)] for n in lengths), "Lead of a sequence.")
        lanes.add("is_second", any_of(lanes[_place(2, n)] for n in lengths), "Second unit of a sequence.")
        lanes.add("is_third", any_of(lanes[_place(3, n)] for n in long), "Third unit of a sequence.")

    def _find_ends(self, lanes: _Lanes) -> None:
        """The further units of sequences, and the roles that the ports have."""
        lengths = self.control.lengths
        for n in lengths:
            for count in range(4, n + 1):
                before = lanes.before(_place(count - 1, n), lanes[_place(count - 1, n)])
                _add_place(lanes, count, n, before & lanes["trail"])
        places = {(n, count): lanes[_place(count, n)] for n in lengths for count in range(1, n + 1)}
        # What is known of the first three units of all sequences is not found again.
        later = {(n, count): place for (n, count), place in places.items() if n > 3 and count >= 3}
        further = [place for (_, count), place in later.items() if count > 3]
        second, done = lanes["is_second"], lanes["done"]
        lanes.add("continued", any_of([second, lanes["is_third"], *further]))
        lanes.add("completed", any_of([done, *(place for (n, count), place in later.items() if count == n)]))
        # A second unit is `done` if its sequence needs no more.
        open_ = [place for (n, count), place in later.items() if count < n]
        lanes.add("is_open", any_of([lanes["opens"], second & ~done, *open_]))
        lanes.add("head", later.get((4, 3), Const(0, self.lanes)))
        for bound in self.bounds:
            lanes.add(f"longer_{bound}", self._longer(lanes, bound))
        for number in range(2, self.table.longest + 1):
            here = any_of(place for (_, count), place in places.items() if count == number)
            lanes.add(f"number_{number}", here, f"Unit number {number} of its sequence.")
        for name in lanes.keys() - self._outputs.keys():
            del lanes[name]
        for load in self.loads:
            follow(lanes.m, load, lanes["valid"])

    def _longer(self, lanes: _Lanes, bound: int) -> Value:
        """Of a unit that completes a sequence: it has more than `bound` units."""
        if bound <= 2:
            several = self._each(lanes, self.control.is_longer)
            return several if bound == 1 else several & ~lanes["is_second"]
        return any_of(lanes[_place(n, n)] for n in self.control.lengths if n > bound)


def _place(count: int, length: int) -> str:
    """The name of the vector of units with this number in sequences of `length`: ``second_of_3``."""
    return f"{_ORDINALS[count]}_of_{length}"


def _add_place(lanes: _Lanes, count: int, length: int, value: Value) -> None:
    comment = f"The unit is the {_ORDINALS[count]} one of a sequence of {length}."
    lanes.add(_place(count, length), value, comment)
