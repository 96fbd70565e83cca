# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of a core as a function from texts and pauses to symbols, with a check of the stream contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from amaranth.hdl import Value
from amaranth.sim import Simulator

from utf8fpga.hdl import Core, CoreEntry, DecoderParameters, OutputSymbol, Word, build, entry_of
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.beats import Beat, BeatEncoder, StreamOptions, SymbolReader, beats_of, is_null
from utf8fpga.sim.contract import FIELDS, LAST, NONE, NULL, ContractError, fault_text, patience_of, watch

ENGINES = ("python", "graph")
"""The names of the engines; the first is the default."""

NETLISTS = ("ice40", "ecp5")
"""The FPGA families whose netlists after synthesis the engine `graph` simulates."""

HAS_GRAPH = find_spec("numba") is not None
"""Whether the extra ``fast`` is installed, without which there is no engine `graph`."""


_CLOCK_PERIOD = 10e-9
"""The period of the simulated clock in seconds, which is visible only in waveforms."""


@dataclass
class Run:
    """The result of one simulation run; cycles are counted from its start.

    Attributes:
        texts: the output symbols of each text.
        accepted: for each input beat except null beats, the cycle in which it was transferred.
        valid_since: for each symbol, the first cycle in which `valid` was asserted for its beat.
        cycles: the length of the run in cycles.
        error: the violation of the stream contract that ended the run; empty if there is none.
    """

    texts: list[list[OutputSymbol]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    valid_since: list[int] = field(default_factory=list)
    cycles: int = 0
    error: str = ""


class Recorder:
    """What an engine calls in a run: `accepted` with the cycle of each transfer at the input, except for null beats,
    and `received` with each output beat.

    Attributes:
        run: the run so far.
    """

    def __init__(self, read: SymbolReader) -> None:
        self.run, self._read = Run([[]]), read
        self.accepted = self.run.accepted.append

    def received(self, payload: int, cycle: int, valid_since: int) -> None:
        """An output beat was transferred: its payload, the cycle, and the first one in which it was valid."""
        try:
            symbols = self._read(payload)
        except ContractError as error:
            raise ContractError(f"cycle {cycle}: {error}") from None
        self.run.texts[-1] += symbols
        self.run.valid_since += [valid_since] * len(symbols)
        if self._read.ends(payload):
            self.run.texts.append([])


class AmaranthEngine:
    """A core in Amaranth's simulator, elaborated once for any number of runs, one at a time.

    It is the engine `python`, which needs no other program and writes waveforms.
    """

    def __init__(self, core: Core, encode: BeatEncoder) -> None:
        self._core, self._encode = core, encode
        self._simulator = Simulator(core)
        self._simulator.add_clock(_CLOCK_PERIOD)
        self._simulator.add_testbench(self._play)
        self._run: Any = None

    def run(self, beats: Iterator[Beat], options: StreamOptions, record: Recorder, *, vcd: Path | None = None) -> int:
        """Send beats to the core, from its initial state until all texts have ended at the output.

        Args:
            beats: the input beats, read on demand.
            options: the pauses; the other options have no effect on beats.
            record: is told of each transfer.
            vcd: a file for the waveform.

        Returns:
            The length of the run in cycles.

        Raises:
            ContractError: the core violated the stream contract.
        """
        if self._run:
            self._simulator.reset()
        self._run = beats, options, record
        with self._simulator.write_vcd(str(vcd)) if vcd else nullcontext():
            self._simulator.run()
        return self._cycle

    async def _play(self, ctx: Any) -> None:
        """Transfer all beats."""
        beats, options, record = self._run
        source, output = self._core.input, self._core.output
        given, payload = Value.cast(source.payload), Value.cast(output.payload)
        last, patience = output.payload.shape()["last"].offset, patience_of(self._core)
        run, cycle, before = SimpleNamespace(**dict.fromkeys(FIELDS, 0)), 0, 0
        beat = next(beats, None)
        while beat is not None or run.open or run.inside:
            run.offered |= beat is not None and not options.input_pauses[cycle % len(options.input_pauses)]
            is_ready = not options.output_pauses[cycle % len(options.output_pauses)]
            # The payload is there before `valid`, which shows whether a core uses it too early.
            ctx.set(given, 0 if beat is None else self._encode(beat))
            ctx.set(source.valid, run.offered)
            ctx.set(output.ready, is_ready)
            is_accepted = bool(run.offered and ctx.get(source.ready))
            is_valid, word = bool(ctx.get(output.valid)), ctx.get(payload)
            kind = NONE if beat is None else NULL if is_null(beat) else LAST * beat[1]
            is_last = bool(word >> last & 1)
            watch(run, cycle, patience, kind, (is_accepted, is_valid, is_ready, word != before, is_last))
            if run.fault:
                raise ContractError(fault_text(run.fault, cycle, patience))
            if is_accepted and beat is not None:
                if kind != NULL:
                    record.accepted(cycle)
                beat = next(beats, None)
            if is_valid and is_ready:
                record.received(word, cycle, run.since)
            await ctx.tick()
            before, cycle = word, cycle + 1
        self._cycle = cycle


class Simulation:
    """A core in a simulation engine, elaborated once for any number of runs.

    Both engines are equal in every cycle, and so are their errors. `python` is Amaranth's simulator. `graph` is
    some thirty times faster and requires the extra ``fast``; a run with `vcd` uses `python`.

    Args:
        core: the core. The symbols of its output are those of `CoreEntry.observed`. Default: a serial decoder of
            UTF-8 with `kind`.
        entry: what it is compared with; default: that of its parameters.
        engine: ``python`` or ``graph``.
        netlist: the FPGA family, ``ice40`` or ``ecp5``, whose netlist after synthesis is simulated, by the engine
            `graph`; default: the circuit itself.

    Attributes:
        core: the core.
        entry: what it is compared with.
        engine: the name of the engine.
        netlist: see above.
        read: the function that takes the symbols out of an output payload.

    Raises:
        InvalidArgumentError: there is no engine of that name.
        ToolError: the extra ``fast`` is not installed.
    """

    def __init__(
        self,
        core: Core | None = None,
        entry: CoreEntry[Any] | None = None,
        *,
        engine: str = ENGINES[0],
        netlist: str | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise InvalidArgumentError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")
        engine = "graph" if netlist else engine
        if engine == "graph" and not HAS_GRAPH:
            raise ToolError("the engine graph requires Numba: pip install -e '.[fast]'")
        self.core = core or build(DecoderParameters(kind=True))
        self.entry = entry or entry_of(self.core.parameters)
        self.engine, self.netlist = engine, netlist
        self.read = SymbolReader(self.core, self.entry)

    def on(self, engine: str) -> Simulation:
        """The simulation of the same core on another engine.

        Raises:
            InvalidArgumentError: there is no engine of that name.
        """
        is_own = engine == self.engine and not self.netlist
        return self if is_own else Simulation(self.core, self.entry, engine=engine)

    @cached_property
    def simulator(self) -> Any:
        """The engine, see `AmaranthEngine`."""
        # Created in the first run, since that takes time.
        encode = BeatEncoder(self.core, self.entry)
        if self.engine == "python":
            return AmaranthEngine(self.core, encode)
        # Numba is optional, and takes half a second to import.
        from utf8fpga.sim.graph_engine import GraphEngine

        return GraphEngine(self.core, encode, self.netlist)

    def expected(self, text: Iterable[int]) -> list[OutputSymbol]:
        """The symbols of the golden function for `text`, in the form of this core's symbols."""
        return [self.entry.comparable(symbol) for symbol in self.entry.golden().process(text, final=True)]

    def run(self, texts: Iterable[Iterable[int]], *, vcd: Path | None = None, **streams: Sequence[bool]) -> Run:
        """Send `texts` back to back to the core, each as one packet, and collect the output.

        Args:
            texts: the input symbols of each text.
            vcd: a file for the waveform.
            streams: the attributes of `StreamOptions`.

        Raises:
            ContractError: a payload changed or `valid` was deasserted before the transfer, `last`
                was set too often, a beat had neither a symbol nor `last`, packed symbols had a gap, the flags of a
                symbol contradicted each other, or no beat was transferred for too many cycles.
            InvalidArgumentError: see `StreamOptions`; or a symbol is wider than those of the core, or a netlist has no
                waveform.
            ToolError: Yosys is missing.
        """
        options = StreamOptions(**streams)
        result = self.run_beats(beats_of(texts, self.core.lanes, options), options, vcd=vcd)
        if result.error:
            raise ContractError(result.error)
        return result

    def run_beats(self, beats: Iterator[Beat], options: StreamOptions, *, vcd: Path | None = None) -> Run:
        """Like `run`, but with beats that are read on demand; a violation of the contract is in the result.

        Args:
            beats: the input beats. The engine `graph` reads some thousands ahead.
            options: the pauses; the other options have no effect on beats.
            vcd: a file for the waveform.
        """
        if vcd and self.netlist:
            raise InvalidArgumentError(f"graphs have no waveforms: leave out vcd {str(vcd)!r}")
        record = Recorder(self.read)
        run = partial(self.on("python").simulator.run, vcd=vcd) if vcd else self.simulator.run
        result = record.run
        try:
            result.cycles = run(beats, options, record)
        except ContractError as error:
            result.error = str(error)
        if not result.texts[-1]:
            result.texts.pop()
        return result


def simulate(
    texts: bytes | bytearray | memoryview | Iterable[Iterable[int]],
    *,
    vcd: Path | None = None,
    engine: str = ENGINES[0],
    **options: Any,
) -> list[list[Word]]:
    """Simulate a UTF-8 decoder on one text or several.

    A bytes-like object is one text; any other iterable consists of texts. See `Simulation.run` for the errors raised.
    For many runs, create a `Simulation` once.

    Args:
        texts: the text or texts.
        vcd: a file for the waveform.
        engine: see `Simulation`.
        options: the attributes of `StreamOptions`, and the fields of `DecoderParameters` except the table and
            `kind`.

    Returns:
        The words of each text, with the causes of errors.

    >>> simulate(b"\\xc2A")
    [[Word(code_point=65533, error=<ErrorKind.TRUNCATED: 6>), Word(code_point=65, error=None)]]
    """
    try:
        several: Iterable[Iterable[int]] = [bytes(memoryview(texts))]  # type: ignore[arg-type]  # TypeError if not
    except TypeError:
        several = cast("Iterable[Iterable[int]]", texts)
    streams = {each.name: options.pop(each.name) for each in fields(StreamOptions) if each.name in options}
    core = build(DecoderParameters(kind=True, **options))
    return cast("list[list[Word]]", Simulation(core, engine=engine).run(several, vcd=vcd, **streams).texts)
