# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of a core as a function from texts and pauses to symbols, with a check of the stream contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, cycle
from pathlib import Path
from typing import Any, Unpack, cast

from utf8fpga.hdl import Core, CoreEntry, DecoderParameters, OutputSymbol, Word, build, entry_of, parameters_of
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.amaranth_engine import AmaranthEngine
from utf8fpga.sim.beats import (
    PLAIN,
    Beat,
    ContractError,
    StreamOptions,
    StreamWords,
    SymbolReader,
    Take,
    checked_symbols,
    symbol_width,
    text_beats,
    with_null_beats,
)
from utf8fpga.sim.engine import ENGINES, HAS_GRAPH, Engine, Events, ignore


@dataclass
class Run:
    """The result of one simulation run; cycles are counted from its start.

    Attributes:
        texts: the output symbols of each text.
        accepted: for each input beat except null beats, the cycle in which it was transferred.
        valid_since: for each symbol, the first cycle in which `valid` was asserted for its beat.
        cycles: the length of the run in cycles.
    """

    texts: list[list[OutputSymbol]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    valid_since: list[int] = field(default_factory=list)
    cycles: int = 0


class Simulation:
    """A core in a simulation engine, elaborated once for any number of runs.

    Both engines are equal in every cycle, and so are their errors. `python` is Amaranth's simulator. `graph` is a
    hundred times faster and requires the extra ``fast``; a run with `vcd` uses `python`.

    Args:
        core: the core. The symbols of its output are those of `CoreEntry.observed`. Default: a serial decoder of
            UTF-8 with `kind`.
        entry: what it is compared with; default: that of its parameters.
        engine: ``python`` or ``graph``.
        netlist: the FPGA family, ``ice40`` or ``ecp5``, whose netlist after synthesis the engine `graph` simulates;
            default: the circuit itself.

    Attributes:
        core: the core.
        entry: what it is compared with.
        engine: the name of the engine.
        netlist: see above.
        read: the function that takes the symbols out of an output payload.

    Raises:
        InvalidArgumentError: there is no engine of that name, or it cannot simulate a netlist.
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
        if netlist is not None and engine != "graph":
            raise InvalidArgumentError(f"netlist {netlist!r} is that of a graph: choose engine='graph'")
        if engine == "graph" and not HAS_GRAPH:
            raise ToolError("the engine graph requires Numba: pip install 'utf8fpga[fast]'")
        self.core = core or build(DecoderParameters(kind=True))
        self.entry = entry or entry_of(parameters_of(self.core))
        self.engine, self.netlist = engine, netlist
        self.read = SymbolReader(self.core, self.entry)
        self._engines: dict[str, Engine] = {}

    def on(self, engine: str) -> Simulation:
        """The simulation of the same core on another engine.

        Raises:
            InvalidArgumentError: there is no engine of that name.
        """
        other = Simulation(self.core, self.entry, engine=engine)
        other._engines = self._engines
        return other

    @property
    def arguments(self) -> list[str]:
        """The words of the command `simulate` that select a netlist; none if this is the circuit itself."""
        return ["--netlist", self.netlist] if self.netlist else []

    def _engine(self, name: str) -> Engine:
        # Created in the first run, since that takes time.
        if name not in self._engines:
            if name == "graph":
                # Numba is optional, and takes half a second to import.
                from utf8fpga.sim.graph_engine import GraphEngine

                self._engines[name] = GraphEngine(self.core, self.entry, netlist=self.netlist)
            else:
                self._engines[name] = AmaranthEngine(self.core, self.entry)
        return self._engines[name]

    def expected(self, text: Iterable[int]) -> list[OutputSymbol]:
        """The symbols of the golden function for `text`, in the form of this core's symbols."""
        return [self.entry.comparable(symbol) for symbol in self.entry.golden().process(text, final=True)]

    def run(self, texts: Iterable[Iterable[int]], *, vcd: Path | None = None, **streams: Unpack[StreamWords]) -> Run:
        """Send `texts` back to back to the core, each as one packet, and collect the output.

        Args:
            texts: the input symbols of each text.
            vcd: a file for the waveform.
            streams: the attributes of `StreamOptions`.

        Raises:
            ContractError: a payload changed or `valid` was deasserted before the transfer, `last`
                was set too often, a beat had neither a symbol nor `last`, packed symbols had a gap, the flags of a
                symbol contradicted each other, or no beat was transferred for too many cycles.
            InvalidArgumentError: see `StreamOptions`; or the core does not accept gaps, a text is not an iterable of
                symbols, a symbol is wider than those of the core, or a netlist has no waveform.
            ToolError: Yosys is missing.
        """
        options, result = StreamOptions(**streams), Run()
        result.texts.append([])

        def take(symbol: OutputSymbol | None, last: bool, valid_since: int) -> None:
            if symbol is not None:
                result.texts[-1].append(symbol)
                result.valid_since.append(valid_since)
            if last:
                result.texts.append([])

        beats = self.beats(texts, options)
        result.cycles = self.stream(beats, take, options, accepted=result.accepted.append, vcd=vcd)
        result.texts.pop()
        return result

    def beats(self, texts: Iterable[Iterable[int]], options: StreamOptions) -> Iterator[Beat]:
        """The input beats of texts, in order, which are read on demand.

        Raises:
            InvalidArgumentError: the core does not accept gaps. When a text is read: see `run`.
        """
        if any(options.gaps) and not self.entry.accepts_gaps:
            name = self.entry.parameters.name
            raise InvalidArgumentError(f"gaps {list(options.gaps)!r}, but {name} does not accept gaps: leave them out")
        width, gaps, ends = symbol_width(self.core), cycle(options.gaps), cycle(options.separate_ends)
        of_texts = (
            text_beats(checked_symbols(text, number, width), self.core.lanes, separate_end=next(ends), gaps=gaps)
            for number, text in enumerate(texts)
        )
        return with_null_beats(chain.from_iterable(of_texts), options.null_beats)

    def stream(
        self,
        beats: Iterator[Beat],
        take: Take,
        options: StreamOptions = PLAIN,
        *,
        accepted: Callable[[int], None] | None = None,
        presented: Callable[[Sequence[Beat]], None] | None = None,
        vcd: Path | None = None,
    ) -> int:
        """Like `run`, but with beats that are read on demand, for input of any length.

        Args:
            beats: the input beats. The engine `graph` reads some thousands ahead.
            take: called with the symbols of each output beat.
            options: the pauses; the other options have no effect on beats.
            accepted: called with the cycle of each transfer at the input, except for null beats.
            presented: called with the next input beats before one of them is transferred.
            vcd: a file for the waveform.

        Returns:
            The length of the run in cycles.

        Raises:
            ContractError: see `run`.
            InvalidArgumentError: see `run`.
            ToolError: see `run`.
        """
        receiver = Receiver(self.core, self.read, take)
        events = Events(receiver.receive, accepted or ignore, presented or ignore)
        engine = self._engine("python" if vcd and not self.netlist else self.engine)
        return engine.run(beats, events, options, vcd=vcd)


class Receiver:
    """Takes the output beats of a core apart during a run.

    Args:
        read: the function that reads the symbols of a beat.
        take: called with the symbols of each beat.
    """

    def __init__(self, core: Core, read: SymbolReader, take: Take) -> None:
        self._read, self._take = read, take
        self._last = core.output.payload.shape()["last"].offset

    def receive(self, payload: int, cycle: int, valid_since: int) -> None:
        """An output beat was transferred.

        Args:
            valid_since: the first cycle in which `valid` was asserted for the beat.

        Raises:
            ContractError: see `SymbolReader`.
        """
        try:
            found = self._read(payload)
        except ContractError as error:
            raise ContractError(f"cycle {cycle}: {error}") from None
        for symbol in found[:-1]:
            self._take(symbol, False, valid_since)
        self._take(found[-1] if found else None, bool(payload >> self._last & 1), valid_since)


def simulate(
    texts: bytes | bytearray | memoryview | Iterable[Iterable[int]],
    *,
    vcd: Path | None = None,
    engine: str = ENGINES[0],
    netlist: str | None = None,
    **options: Any,
) -> list[list[Word]]:
    """Simulate a UTF-8 decoder on one text or several.

    A bytes-like object is one text; any other iterable consists of texts. See `Simulation.run` for the errors raised.
    For many runs, create a `Simulation` once.

    Args:
        texts: the text or texts.
        vcd: a file for the waveform.
        engine: see `Simulation`.
        netlist: see `Simulation`.
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
    result = Simulation(core, engine=engine, netlist=netlist).run(several, vcd=vcd, **streams)
    return cast("list[list[Word]]", result.texts)
