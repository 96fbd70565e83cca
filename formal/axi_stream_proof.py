# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the AXI4-Stream ports around a core, and of the counters beside it, for any behaviour of the core.

The core is replaced by one whose outputs are arbitrary, so the proofs hold for each core with the same streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, ClockSignal, Const, Module, Mux, ResetSignal, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.formal.abc import Verdict, decide
from utf8fpga.formal.helpers import delayed, how_many, named
from utf8fpga.formal.properties import Harness, Property
from utf8fpga.formal.reference import CoreReference, PassReference
from utf8fpga.formal.top import Top
from utf8fpga.hdl.axi_stream import AxiStreamCore, AxiStreamTap, PortOptions, axi_component
from utf8fpga.hdl.beats import beat_stream, is_effective, lanes_of, symbol_shape
from utf8fpga.hdl.statistics import BUSES
from utf8fpga.model import EncodingTable

PORT_PROPERTIES = (Property.EQUIVALENCE, Property.POWER_UP)
"""The properties of ports around a core."""

REGISTERED_PROPERTIES = (*PORT_PROPERTIES, Property.STEADY, Property.STALL, Property.LATENCY, Property.INDEPENDENCE)
"""The properties of registers in front of the output."""


class AnyCore(wiring.Component):
    """A component with the ports of another one, whose outputs are arbitrary.

    Attributes:
        made: by name of an output port its value, which is an input of the proof.
        latency, reset_cycles, stall_cycles, drain_cycles: those of the other one.
        tap: of a core with a tap, the same in place of that.
    """

    _MustUse__silence = True  # Of one with a tap only that is elaborated.

    def __init__(self, like: Any) -> None:
        super().__init__(like.signature)
        for name in ("latency", "reset_cycles", "stall_cycles", "drain_cycles"):
            setattr(self, name, getattr(like, name, 0))
        if hasattr(like, "tap"):
            self.tap = AnyCore(like.tap)
        self.clock, self.reset = Signal(name="core_clock"), Signal(name="core_reset")
        self.made = {
            "_".join(map(str, path)): Signal(len(Value.cast(value)), name="_".join(["made", *map(str, path)]))
            for path, member, value in self.signature.flatten(self)
            if member.flow is not In
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for path, member, value in self.signature.flatten(self):
            if member.flow is not In:
                m.d.comb += Value.cast(value).eq(self.made["_".join(map(str, path))])
        m.d.comb += [self.clock.eq(ClockSignal()), self.reset.eq(ResetSignal())]
        return m


def any_ports(core: Any, options: PortOptions) -> AxiStreamCore | AxiStreamTap:
    """AXI4-Stream ports around a core or tap with the streams of this one, and arbitrary behaviour."""
    return axi_component(AnyCore(core), options)


def _bytes_of(bits: int) -> int:
    """The bytes of a symbol: the least power of two that holds its bits."""
    return next(size for size in (1, 2, 4, 8) if 8 * size >= bits)


class PortsProof(Top):
    """The ports around a core of any behaviour, in one cycle.

    Args:
        ports: `any_ports`, with options none of which adds registers.

    Attributes:
        bad: in the cycle before, an input of the core was not that of the ports, or an output of the ports not that of
            the core.
    """

    def __init__(self, ports: Any) -> None:
        super().__init__()
        self._options, self._dut = ports.options, ports
        self._core: AnyCore = ports.tap if hasattr(ports, "tap") else ports.core
        self.given = {
            name: Signal(member.shape, name=f"given_{name}")
            for name, member in self._dut.signature.members.items()
            if member.flow is In
        }
        self.made = {name: Signal.like(value, name=f"any_{name}") for name, value in self._core.made.items()}
        self.bad = Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, core, given = self._dut, self._core, self.given
        m.submodules.dut = dut
        m.d.comb += [
            *(getattr(dut, name).eq(value) for name, value in given.items()),
            *(core.made[name].eq(value) for name, value in self.made.items()),
        ]
        reset = ~given["rst_n"] if self._options.reset_low else given["rst"]
        same = [core.clock == given["clk"], core.reset == reset]
        is_tap = not hasattr(core, "input")
        source = core if is_tap else core.input
        same += self._taken(source.payload)
        same.append(source.valid == given["s_axis_tvalid"])
        if is_tap:
            same += [source.ready == given["s_axis_tready"], dut.report_tvalid == core.report_valid]
        else:
            same.append(dut.s_axis_tready == source.ready)
            same += self._shown(core.output)
        if is_tap:
            same += [
                Value.cast(getattr(dut, f"report_{name}")) == Value.cast(core.report[name])
                for name, _ in core.report.shape()
            ]
        self.clocked(m)
        m.d.sync += self.bad.eq(~Cat(*same).all())
        return m

    def _taken(self, payload: Any) -> list[Value]:
        """The input beat is that of the ports."""
        given, lanes = self.given, len(payload.keep)
        data_shape, *others = _fields(payload.shape()["symbols"].shape.elem_shape)
        size = _bytes_of(data_shape[1])
        users = sum(bits for _, bits in others)
        found = [payload.last == given["s_axis_tlast"]]
        for lane in range(lanes):
            tdata = given["s_axis_tdata"].word_select(lane, 8 * size)
            tkeep = given["s_axis_tkeep"].word_select(lane, size)
            values = Cat(_field(payload.symbols[lane], name) for name, _ in (data_shape, *others))
            tuser = given["s_axis_tuser"].word_select(lane, users) if users else Const(0, 0)
            found += [values == Cat(tdata[: data_shape[1]], tuser), payload.keep[lane] == tkeep.all()]
        return found

    def _shown(self, output: Any) -> list[Value]:
        """The output of the ports is the beat of the core, and `ready` that of the ports."""
        dut, payload, flags = self._dut, output.payload, self._options.flags
        first, *others = _fields(symbol_shape(output))
        size = _bytes_of(first[1] + (flags == "word"))
        tdata, tkeep, tuser = [], [], []
        for lane in range(lanes_of(output)):
            symbol = payload.symbols[lane]
            value = _field(symbol, first[0])
            inside = [each for each in others if not (flags == "word" and each[0] == "error")]
            high = [symbol.error] if flags == "word" else []
            tdata.append(Cat(value, Const(0, 8 * size - len(value) - len(high)), *high))
            tkeep += [payload.keep[lane]] * size
            tuser += [Cat(_field(symbol, name) for name, _ in inside)] * (size if flags == "byte" else 1)
        found = [
            dut.m_axis_tdata == Cat(*tdata),
            dut.m_axis_tkeep == Cat(*tkeep),
            dut.m_axis_tlast == payload.last,
            dut.m_axis_tvalid == output.valid,
            output.ready == self.given["m_axis_tready"],
        ]
        return [*found, dut.m_axis_tuser == Cat(*tuser)] if len(Cat(*tuser)) else found


def _fields(shape: Any) -> list[tuple[str, int]]:
    """The names and widths of the fields of a symbol, of which the first is its data; one without a name if it is a
    number."""
    if not isinstance(shape, data.StructLayout):
        return [("", Shape.cast(shape).width)]
    return [(str(name), field.width) for name, field in shape]


def _field(symbol: Any, name: str) -> Value:
    return Value.cast(symbol[name] if name else symbol)


class StatisticsProof(Top):
    """A core of any behaviour behind ports with counters, and what the registers must hold.

    Args:
        ports: `any_ports` with counters.

    Attributes:
        bad: in the cycle before, one of these was another one: what is read, `irq`, the handshake of the bus.
    """

    def __init__(self, ports: Any, *, resets_first: bool) -> None:
        super().__init__()
        self._dut, self._core, self._resets_first = ports, ports.core, resets_first
        self._bus, output = ports.options.statistics, ports.core.output
        self._lanes = lanes_of(output)
        self.reset, self.ready = Signal(name="reset"), Signal(name="ready")
        self.beat = Signal(len(Value.cast(output.payload)), name="beat")
        self.valid = Signal(name="valid")
        self.given = {
            name: Signal(member.shape, name=f"given_{name}")
            for name, member in BUSES[self._bus].items()
            if member.flow is In
        }
        self.bad = Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self._dut
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        self.clocked(m, self.reset | (Const(self._resets_first, 1) & ~started))
        beat = Signal(self._core.output.payload.shape())
        lanes = range(self._lanes)
        present = [beat.keep[lane] for lane in lanes]
        # The error flag of a core is 0 where there is no symbol.
        wrong = [beat.symbols[lane].error & present[lane] for lane in lanes]
        shown = Signal.like(beat)
        m.d.comb += [
            Value.cast(beat).eq(self.beat),
            shown.eq(beat),
            *(shown.symbols[lane].error.eq(wrong[lane]) for lane in lanes),
            dut.rst.eq(ResetSignal()),
            dut.m_axis_tready.eq(self.ready),
            self._core.made["output_valid"].eq(self.valid),
            self._core.made["output_payload"].eq(shown),
        ]
        transferred = self.valid & self.ready
        last = beat.last
        # What a beat changes is in the registers so many cycles after its transfer.
        later = delayed(m, "later", Cat(transferred, last, *present, *wrong), 2 + (self._lanes - 1).bit_length())[-1]
        transferred, last = later[0], later[1]
        symbols, errors = (
            named(m, name, how_many(bit & transferred for bit in bits))
            for name, bits in (("symbols", later[2 : 2 + self._lanes]), ("errors", later[2 + self._lanes :]))
        )
        ends, failed = named(m, "ends", transferred & last), Signal()
        m.d.sync += failed.eq(~ends & (failed | errors.any()))
        amounts = [ends, ends & (failed | errors.any()), symbols, errors]
        counters = [Signal(32, name=f"counter_{number}") for number in range(len(amounts))]
        status, enable, clears = Signal(), Signal(), Signal()
        write, address, data_, bad = self._follow(m, [*counters, status, enable])
        control = write & (address == 5)
        m.d.sync += [
            *(counter.eq(Mux(clears, 0, counter + by)) for counter, by in zip(counters, amounts, strict=True)),
            clears.eq(control & data_[1]),
            enable.eq(Mux(control, data_[0], enable)),
            status.eq(errors.any() | (status & ~(write & (address == 4) & data_[0]))),
        ]
        bad = bad | (dut.irq != (status & enable))
        m.d.sync += self.bad.eq(bad & ~ResetSignal())
        return m

    def _follow(self, m: Module, registers: Sequence[Value]) -> tuple[Value, Value, Value, Value]:
        """Whether a register is written, its number and the data; and whether the bus does something wrong.

        What is read is `registers`, by number; 0 for other numbers.
        """
        return (self._wishbone if self._bus == "wishbone" else self._axi_lite)(m, registers)

    def _wishbone(self, m: Module, registers: Sequence[Value]) -> tuple[Value, Value, Value, Value]:
        """An access is acknowledged in the cycle after it begins, with what the register held when it began."""
        given, dut = self.given, self._dut
        m.d.comb += [getattr(dut, name).eq(value) for name, value in given.items()]
        acknowledges, found = Signal(), Signal(32, reset_less=True)
        begins = given["wb_cyc"] & given["wb_stb"] & ~acknowledges
        m.d.sync += [acknowledges.eq(begins), found.eq(Array([*registers, Const(0)])[given["wb_adr"]])]
        bad = (dut.wb_ack != acknowledges) | (acknowledges & (dut.wb_dat_r != found))
        write = begins & given["wb_we"] & given["wb_sel"][0]
        return write, given["wb_adr"], given["wb_dat_w"], bad

    def _axi_lite(self, m: Module, registers: Sequence[Value]) -> tuple[Value, Value, Value, Value]:
        """Each access has one response, and each read what the register held when its address was transferred.

        A write waits at most one cycle if no response does. What waits does not change, as AXI demands.
        """
        dut = self._dut
        address, word, _ = (self._channel(m, name) for name in ("aw", "w", "ar"))
        write = dut.s_axil_awvalid & dut.s_axil_awready
        reads = dut.s_axil_arvalid & dut.s_axil_arready
        response, responds, found, waited = Signal(), Signal(), Signal(32, reset_less=True), Signal()
        m.d.comb += [
            dut.s_axil_bready.eq(self.given["s_axil_bready"]),
            dut.s_axil_rready.eq(self.given["s_axil_rready"]),
        ]
        both = dut.s_axil_awvalid & dut.s_axil_wvalid
        m.d.sync += [
            response.eq(write | (response & ~dut.s_axil_bready)),
            responds.eq(reads | (responds & ~dut.s_axil_rready)),
            waited.eq(both & ~write & ~response),
        ]
        with m.If(reads):
            m.d.sync += found.eq(Array([*registers, Const(0)])[dut.s_axil_araddr[2:]])
        bad = Cat(
            dut.s_axil_awready != dut.s_axil_wready,
            dut.s_axil_awready & ~both,
            dut.s_axil_bvalid != response,
            dut.s_axil_bresp != 0,
            dut.s_axil_rvalid != responds,
            dut.s_axil_rresp != 0,
            responds & (dut.s_axil_rdata != found),
            dut.s_axil_arready != ~responds,
            write & response,
            waited & ~write,
        ).any()
        return write & word[32], address[2:5], word[:32], bad

    def _channel(self, m: Module, name: str) -> Value:
        """The payload of a channel of AXI4-Lite to the circuit; it is held until it is transferred."""
        prefix, dut = f"s_axil_{name}", self._dut
        fields = [each for each in self.given if each.startswith(prefix) and not each.endswith("valid")]
        valid, ready = getattr(dut, f"{prefix}valid"), getattr(dut, f"{prefix}ready")
        fresh = Cat(self.given[each] for each in fields)
        waits, held = Signal(name=f"{name}_waits"), Signal(len(fresh), name=f"{name}_held", reset_less=True)
        payload = named(m, f"{name}_payload", Mux(waits, held, fresh))
        m.d.comb += [
            valid.eq(self.given[f"{prefix}valid"] | waits),
            Cat(getattr(dut, each) for each in fields).eq(payload),
        ]
        m.d.sync += [waits.eq(valid & ~ready), held.eq(payload)]
        return payload


class SidebandProof(Top):
    """A core of any behaviour behind ports with an identifier beside each packet, which is watched for any packet.

    What the core does is limited by its contract: it has an output beat in the cycles after the first beat of its
    packet only, an end of a packet for each one at its input, and at most `drain_cycles` packets that have ended.

    Args:
        ports: `any_ports` with the option `tid`.

    Attributes:
        bad: in the cycle before, the identifier at the output was not that of the packet.
    """

    def __init__(self, ports: Any, *, resets_first: bool) -> None:
        super().__init__()
        self._dut, self._core, self._resets_first = ports, ports.core, resets_first
        self._most, bits = ports.core.drain_cycles, ports.options.tid
        self.reset, self.offer, self.take, self.able, self.shows, self.ends, self.pick = (
            Signal(name=name) for name in ("reset", "offer", "take", "able", "shows", "ends", "pick")
        )
        self.keep, self.last, self.tid = Signal(name="keep"), Signal(name="last"), Signal(bits, name="tid")
        self.bad = Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self._dut
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        self.clocked(m, self.reset | (Const(self._resets_first, 1) & ~started))
        # Packets in flight that have ended at the input; one that has begun.
        ended, open_ = Signal(range(self._most + 1)), Signal()
        beat = Signal(self._core.output.payload.shape())
        shows = self.shows & (open_ | (ended != 0))
        m.d.comb += [
            dut.rst.eq(ResetSignal()),
            dut.s_axis_tvalid.eq(self.offer),
            dut.s_axis_tkeep.eq(self.keep.replicate(len(dut.s_axis_tkeep))),
            dut.s_axis_tlast.eq(self.last),
            dut.s_axis_tid.eq(self.tid),
            dut.m_axis_tready.eq(self.take),
            beat.last.eq(self.ends & (ended != 0)),
            self._core.made["input_ready"].eq(self.able & (ended != self._most)),
            self._core.made["output_valid"].eq(shows),
            self._core.made["output_payload"].eq(beat),
        ]
        accepted = dut.s_axis_tvalid & dut.s_axis_tready & (self.keep | self.last)
        begins, ends = accepted & ~open_, accepted & self.last
        leaves = shows & beat.last & self.take
        m.d.sync += [
            open_.eq(Mux(accepted, ~self.last, open_)),
            ended.eq(ended + ends - leaves),
        ]
        watching, word = Signal(), Signal.like(self.tid, reset_less=True)
        # Packets before the one that is watched, which is at the output if there is none.
        before = Signal.like(ended, reset_less=True)
        with m.If(begins & self.pick & ~watching):
            m.d.sync += [watching.eq(1), word.eq(self.tid), before.eq(ended - leaves)]
        with m.Elif(watching & leaves):
            m.d.sync += [watching.eq(before != 0), before.eq(before - 1)]
        bad = watching & (before == 0) & shows & (dut.m_axis_tid != word)
        m.d.sync += self.bad.eq(bad & ~ResetSignal())
        return m


def prove_ports(ports: Any, wanted: Property, *, seconds: int = 600) -> Verdict:
    """Prove that ports around a core of any behaviour are those of its streams; or what is beside it with options for
    that: the counters, or the identifiers.

    Args:
        ports: `any_ports`.
        wanted: one of `PORT_PROPERTIES`.
    """
    options: PortOptions = ports.options
    proof: Top
    if options.statistics:
        proof = StatisticsProof(ports, resets_first=wanted.resets_first)
    elif options.sideband:
        proof = SidebandProof(ports, resets_first=wanted.resets_first)
    else:
        proof = PortsProof(ports)
    aig = proof.graph(free=wanted.any_start)
    return decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]


class _Wire(wiring.Component):
    """A core that outputs its input beats in the same cycle, except for null beats, and error flags of no symbol.

    No core has an output beat in the cycle after a reset, so this one has none.
    """

    latency = stall_cycles = drain_cycles = 0
    reset_cycles = 1

    def __init__(self, beats: wiring.Signature) -> None:
        super().__init__({"input": In(beats), "output": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, output, awake = self.input, self.output, Signal()
        m.d.sync += awake.eq(1)
        m.d.comb += [
            output.payload.eq(source.payload),
            *(
                output.payload.symbols[lane].error.eq(source.payload.symbols[lane].error & keep)
                for lane, keep in enumerate(source.payload.keep)
            ),
            output.valid.eq(is_effective(source) & awake),
            source.ready.eq((output.ready | ~is_effective(source)) & awake),
        ]
        return m


class RegisteredPorts(wiring.Component):
    """A core that outputs its input beats behind ports with registers in front of the output.

    Args:
        symbol: the shape of a symbol, with data and an error flag.
    """

    def __init__(self, symbol: data.StructLayout, lanes: int) -> None:
        self.lanes, beats = lanes, beat_stream(symbol, lanes)
        wire: Any = _Wire(beats)
        self._options = PortOptions(registered=True)
        self._dut = axi_component(wire, self._options)
        self.latency, self.reset_cycles, self.stall_cycles, self.drain_cycles = self._options.timing(wire)
        super().__init__({"input": In(beats), "output": Out(beats)})

    def reference(self, _table: EncodingTable | None) -> CoreReference:
        core: Any = self
        return PassReference(core)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self._dut
        source, output = self.input, self.output
        first, (_, flag) = _fields(symbol_shape(source))
        size = 8 * _bytes_of(first[1])
        m.d.comb += [
            dut.clk.eq(ClockSignal()),
            dut.rst.eq(ResetSignal()),
            dut.s_axis_tlast.eq(source.payload.last),
            dut.s_axis_tvalid.eq(source.valid),
            source.ready.eq(dut.s_axis_tready),
            output.payload.last.eq(dut.m_axis_tlast),
            output.valid.eq(dut.m_axis_tvalid),
            dut.m_axis_tready.eq(output.ready),
        ]
        for lane in range(self.lanes):
            given, made = (Value.cast(each.payload.symbols[lane]) for each in (source, output))
            m.d.comb += [
                dut.s_axis_tdata.word_select(lane, size).eq(given[: first[1]]),
                dut.s_axis_tuser.word_select(lane, flag).eq(given[first[1] :]),
                dut.s_axis_tkeep.word_select(lane, size // 8).eq(source.payload.keep[lane].replicate(size // 8)),
                made.eq(
                    Cat(dut.m_axis_tdata.word_select(lane, size)[: first[1]], dut.m_axis_tuser.word_select(lane, flag))
                ),
                output.payload.keep[lane].eq(dut.m_axis_tkeep.word_select(lane, size // 8).all()),
            ]
        return m


def prove_registered(ports: RegisteredPorts, wanted: Property, *, seconds: int = 600) -> Verdict:
    """Prove a property of registers in front of the output.

    Args:
        wanted: one of `REGISTERED_PROPERTIES`.
    """
    aig = Harness(lambda: ports, wanted).graph(free=wanted.any_start)
    if wanted is Property.INDEPENDENCE:
        return Verdict(not aig.depends(["see_out_valid", "see_out_payload"], ["ready"]), 0)
    return decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
