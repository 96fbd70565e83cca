# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of decoders: which there are, their results, and readable counterexamples."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from utf8fpga.hdl import (
    PARALLEL_PIPELINES,
    PIPELINES,
    PackedDecoder,
    ParallelDecoder,
    Refresh,
    SerialDecoder,
    axi_rtlil,
)
from utf8fpga.hdl.tools import run_tool
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.forms import CESU_8_CODE_UNITS, GENERALISED_UTF_8, MODIFIED_UTF_8_CODE_UNITS, RFC_2279
from utf8fpga.sim.counterexample import Counterexample
from utf8fpga.sim.engine import Aig, Verdict, aig_of, decide, hunt
from utf8fpga.sim.halves import HALVES, elaborating, prove_halves, prove_recovery
from utf8fpga.sim.packing import Words, prove_packer
from utf8fpga.sim.properties import Harness, Property, cover_targets
from utf8fpga.sim.refreshing import Refreshed, prove_refresh
from utf8fpga.sim.result import Result

__all__ = [
    "CONFIGURATIONS",
    "FAMILIES",
    "PROPERTIES",
    "Configuration",
    "Result",
    "equal_netlist",
    "harness_aig",
    "harness_rtlil",
    "prove",
    "prove_all",
]


@dataclass(frozen=True)
class Configuration:
    """A decoder, or what resets one, by name.

    Attributes:
        name: what the command line calls it.
        table: the encoding form.
        build_from: makes it from a table.
        call: the expression that makes it, for a regression test.
        right: the table that it is compared with, if that is another.
        verilog: it is what `generate` writes, so its netlists are compared too.
        asked: it takes long, and is proved only if it is asked for.
    """

    name: str
    table: EncodingTable
    build_from: Callable[[EncodingTable], Any]
    call: str
    right: EncodingTable | None = None
    verilog: bool = False
    asked: bool = False

    def build(self) -> Any:
        """The decoder."""
        return self.build_from(self.table)


_OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "": {},
    "-full": {"kind": True, "length": True},
    "-no-replacement": {"replacement": False},
    "-full-no-replacement": {"kind": True, "length": True, "replacement": False},
}
_TABLES = {
    "RFC_2279": RFC_2279,
    "GENERALISED_UTF_8": GENERALISED_UTF_8,
    "CESU_8_CODE_UNITS": CESU_8_CODE_UNITS,
    "MODIFIED_UTF_8_CODE_UNITS": MODIFIED_UTF_8_CODE_UNITS,
}
"""The tables of the catalogue that a serial decoder takes, besides that of UTF-8."""


def _serial(
    table: EncodingTable, spelled: str, pipeline: int, suffix: str, options: Mapping[str, bool]
) -> Configuration:
    arguments = "".join(f", {name}={value}" for name, value in options.items())
    where = "" if table is TABLE_3_7 else "-" + spelled.lower().replace("_", "-")
    return Configuration(
        f"serial-{pipeline}{suffix}{where}",
        table,
        lambda table: SerialDecoder(table, pipeline=pipeline, **options),
        f"SerialDecoder({spelled}, pipeline={pipeline}{arguments})",
        verilog=table is TABLE_3_7 and "kind" not in options,
    )


def _all_serial() -> Iterator[Configuration]:
    for suffix, options in _OPTIONS.items():
        for pipeline in PIPELINES:
            yield _serial(TABLE_3_7, "TABLE_3_7", pipeline, suffix, options)
    for spelled, table in _TABLES.items():
        for pipeline in PIPELINES:
            yield _serial(table, spelled, pipeline, "-full", _OPTIONS["-full"])


def _parallel(
    table: EncodingTable,
    spelled: str,
    lanes: int,
    suffix: str,
    options: Mapping[str, Any],
    *,
    of: type[ParallelDecoder | PackedDecoder] = ParallelDecoder,
    asked: bool = False,
) -> Configuration:
    given = {"lanes": lanes, **options}
    arguments = "".join(f", {name}={value!r}" for name, value in given.items())
    where = "" if table is TABLE_3_7 else "-" + spelled.lower().replace("_", "-")
    return Configuration(
        f"{'packed' if of is PackedDecoder else 'parallel'}-{lanes}{suffix}{where}",
        table,
        lambda table: of(table, **given),
        f"{of.__name__}({spelled}{arguments})",
        verilog=table is TABLE_3_7 and "kind" not in options and lanes <= _NETLIST_LANES[of],
        asked=asked,
    )


_NETLIST_LANES = {ParallelDecoder: 8, PackedDecoder: 4}
"""The most lanes of a decoder whose netlists are compared."""


def _all_parallel() -> Iterator[Configuration]:
    for lanes in (1, 2, 3, 4, 8):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "", {})
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "-full", _OPTIONS["-full"])
    for lanes in (1, 4):
        for pipeline in PARALLEL_PIPELINES:
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, f"-pipeline-{pipeline}", {"pipeline": pipeline})
        for suffix in ("-no-replacement", "-full-no-replacement"):
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, suffix, _OPTIONS[suffix])
    for lanes in (4, 8):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "-registers", {"buffer": "registers"})
    for spelled, table in _TABLES.items():
        for lanes in (1, 4, 8):
            yield _parallel(table, spelled, lanes, "-full", _OPTIONS["-full"])
    for lanes in (16, 32, 64):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "", {}, asked=True)


def _all_packed() -> Iterator[Configuration]:
    for lanes in (2, 3, 4, 8):
        for suffix in ("", "-full"):
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, suffix, _OPTIONS[suffix], of=PackedDecoder)
    for spelled, table in _TABLES.items():
        yield _parallel(table, spelled, 4, "-full", _OPTIONS["-full"], of=PackedDecoder)


def _all_refreshed() -> Iterator[Configuration]:
    yield Configuration("refresh", TABLE_3_7, lambda _: Refresh(16), "Refresh(16)")
    for pipeline in PIPELINES:
        yield _refreshed(pipeline)


def _refreshed(pipeline: int) -> Configuration:
    # Small numbers, since an engine has to find out what each count says: more than the latency, and than is held.
    most = pipeline + 3
    return Configuration(
        f"serial-{pipeline}-refresh",
        TABLE_3_7,
        lambda table: Refreshed(SerialDecoder(table, pipeline=pipeline), Refresh(2, still=most, most=most)),
        f"Refreshed(SerialDecoder(TABLE_3_7, pipeline={pipeline}), Refresh(2, still={most}, most={most}))",
    )


_ALL = (*_all_serial(), *_all_parallel(), *_all_packed(), *_all_refreshed())

CONFIGURATIONS = {configuration.name: configuration for configuration in _ALL}
"""What `utf8fpga prove` knows."""

FAMILIES = {
    # Deferred, since one of iCE40's cells, a large memory that no decoder has, takes a minute to read.
    "ice40": "read_verilog -defer +/ice40/cells_sim.v",
    "ecp5": "read_verilog -overwrite +/ecp5/cells_sim.v",
}
"""The FPGA families whose netlists are compared, and how their cells are read."""

PROPERTIES = (
    *(str(wanted) for wanted in Property if wanted not in (Property.TOGETHER, Property.TWIN)),
    *(f"netlist-{family}" for family in FAMILIES),
)
"""Every property by its name."""


def harness_rtlil(configuration: Configuration, wanted: Property) -> str:
    """The monitor of a property around the decoder, in RTLIL with the top module ``top``."""
    with elaborating:
        harness = Harness(configuration.build, wanted, configuration.right)
        return str(rtlil.convert(harness, name="top", ports=harness.ports, emit_src=False))


def harness_aig(configuration: Configuration, wanted: Property) -> Aig:
    """The same as a graph with the output ``bad``."""
    return aig_of(harness_rtlil(configuration, wanted), free=wanted.any_start)


def prove(configuration: Configuration, wanted: str, *, seconds: int = 600) -> list[Result]:
    """Prove one property of one decoder; of covers there is a result for each target.

    Args:
        configuration: the decoder.
        wanted: one of `PROPERTIES`.
        seconds: how long the engine may think about one question.

    Raises:
        ToolError: Yosys is missing or failed.
        ValueError: there is no such property.
    """
    if wanted not in PROPERTIES:
        raise ValueError(f"unknown property {wanted!r} (known: {', '.join(PROPERTIES)})")
    started = time.monotonic()
    decoder = configuration.build()
    if isinstance(decoder, Refresh):
        return _prove_refresh(configuration, seconds) if wanted == Property.RECOVERY else []
    if isinstance(decoder, Refreshed) and wanted not in _KEPT:
        return []
    if wanted in (*HALVES, Property.RECOVERY) and isinstance(decoder, ParallelDecoder | PackedDecoder):
        return _prove_parallel(configuration, Property(wanted), seconds)
    if wanted.startswith("netlist-"):
        return _prove_netlist(configuration, wanted) if configuration.verilog else []
    if wanted == Property.COVER:
        return _cover(configuration, seconds)
    aig = harness_aig(configuration, Property(wanted))
    if wanted == Property.INDEPENDENCE:
        shown = [*aig.output_bits["see_out_valid"], *aig.output_bits["see_out_payload"]]
        touched = bool(aig.fan_in(shown) & set(aig.input_bits["ready"]))
        return [Result(configuration.name, wanted, "structure", 0, time.monotonic() - started, not touched)]
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
    result = Result(configuration.name, wanted, "reachability", verdict.depth, 0, verdict.proved)
    if verdict.proved is False:
        result.method = "trace"
        result.counterexample = Counterexample.of(configuration, Property(wanted), aig.values(verdict.frames))
    result.seconds = time.monotonic() - started
    return [result]


def _prove_netlist(configuration: Configuration, wanted: str) -> list[Result]:
    started = time.monotonic()
    with elaborating:
        design = axi_rtlil(configuration.build())
    verdict = equal_netlist(design, wanted.removeprefix("netlist-"))
    method = "trace" if verdict.proved is False else "reachability"
    return [Result(configuration.name, wanted, method, verdict.depth, time.monotonic() - started, verdict.proved)]


def _prove_parallel(configuration: Configuration, wanted: Property, seconds: int) -> list[Result]:
    if wanted is not Property.RECOVERY:
        return [_prove_halves(configuration, wanted, seconds)]
    # The pointers of a packer's memories, as those of a buffer, stay apart if they ever are.
    packed = isinstance(configuration.build(), PackedDecoder)
    return [] if packed else [_prove_recovery(configuration, seconds)]


def _prove_halves(configuration: Configuration, wanted: Property, seconds: int) -> Result:
    started = time.monotonic()
    right = configuration.right or configuration.table
    decoder = configuration.build()
    packed = isinstance(decoder, PackedDecoder)
    # A packed decoder is a sparse one and a packer, which are proved each by itself.
    found = prove_halves(
        lambda: configuration.build().sparse if packed else configuration.build(), right, wanted, seconds=seconds
    )
    result = Result(configuration.name, wanted, "induction", found.frames, 0, True if found.proved else None)
    if packed and found.proved:
        words = Words(decoder.table, decoder.kind, decoder.length)
        (packer,) = prove_packer(decoder.lanes, wanted, words=words, seconds=seconds)
        result.proved, result.note = packer.proved, packer.note
    if found.failed:
        # What fails is a step from any state that the invariant allows; a trace from the start is for people.
        result.note = f"no step: {found.failed[0]}"
        trace = Property.STEADY if wanted is Property.STEADY else Property.EQUIVALENCE
        aig = harness_aig(configuration, trace)
        verdict = hunt(aig, aig.output_bits["bad"][0], _HUNTED, seconds=seconds)
        if verdict.proved is False:
            result.method, result.depth, result.proved, result.note = "trace", verdict.depth, False, ""
            result.counterexample = Counterexample.of(configuration, trace, aig.values(verdict.frames))
    result.seconds = time.monotonic() - started
    return result


def _prove_recovery(configuration: Configuration, seconds: int) -> Result:
    started = time.monotonic()
    verdict = prove_recovery(configuration.build, seconds=seconds)
    method = "trace" if verdict.proved is False else "reachability"
    note = "up to the buffer, which needs a reset" if configuration.build().buffer == "memory" else ""
    return Result(
        configuration.name,
        Property.RECOVERY,
        method,
        verdict.depth,
        time.monotonic() - started,
        verdict.proved,
        note=note,
    )


_KEPT = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.INDEPENDENCE)
"""What a reset now and then leaves as it is."""


def _prove_refresh(configuration: Configuration, seconds: int) -> list[Result]:
    with elaborating:
        verdicts = prove_refresh(configuration.build(), seconds=seconds)
    return [
        Result(
            configuration.name,
            Property.RECOVERY,
            "trace" if verdict.proved is False else "reachability",
            verdict.depth,
            verdict.seconds,
            verdict.proved,
            note=question,
        )
        for question, verdict in verdicts.items()
    ]


_HUNTED = 40
"""Clocks that a trace may have where an induction fails."""


def _cover(configuration: Configuration, seconds: int) -> list[Result]:
    started = time.monotonic()
    aig = harness_aig(configuration, Property.COVER)
    with elaborating:
        targets = cover_targets(configuration.build())
    questions = {f"cover{n}": (aig, where) for n, where in enumerate(aig.output_bits["bad"])}
    shared = (time.monotonic() - started) / len(targets)
    if not isinstance(configuration.build(), SerialDecoder):
        verdicts = [hunt(*question, _HUNTED, seconds=seconds) for question in questions.values()]
    else:
        verdicts = list(decide(questions, seconds=seconds).values())
    results = []
    for target, verdict in zip(targets, verdicts, strict=True):
        reached = None if verdict.proved is None else not verdict.proved
        taken = verdict.seconds + shared
        result = Result(configuration.name, Property.COVER, "trace", verdict.depth, taken, reached, target)
        if reached:
            result.counterexample = Counterexample.of(configuration, Property.COVER, aig.values(verdict.frames))
        results.append(result)
    return results


def prove_all(
    chosen: Sequence[Configuration],
    wanted: Sequence[str],
    *,
    jobs: int = 1,
    seconds: int = 600,
    done: Callable[[int], None] = lambda _: None,
) -> Generator[Result, None, None]:
    """Prove several properties of several decoders; each result comes, in the order asked for, as soon as it can.

    What has not begun is left undone if the iterator is closed.

    Args:
        chosen: the decoders.
        wanted: names of `PROPERTIES`.
        jobs: how many at a time.
        seconds: see `prove`.
        done: called with how many are done.
    """
    with ThreadPoolExecutor(jobs) as pool:
        tasks = [pool.submit(prove, each, name, seconds=seconds) for each in chosen for name in wanted]
        try:
            for number, task in enumerate(tasks, 1):
                yield from task.result()
                done(number)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# Netlists.

_COMPARE = (
    # What is not said may be anything, but what a memory's bit starts with: that is 0, as bitstreams have it.
    "read_rtlil gate.il; rename utf8_decoder gate; setundef -anyseq gate; setundef -zero -params gate; "
    "delete =A:blackbox; {cells}; hierarchy -top gate; proc; flatten; {change} setundef -undriven -anyseq; "
    "opt_clean; design -stash gate; read_rtlil gold.il; hierarchy -top utf8_decoder; proc; flatten; "
    "opt_clean; rename utf8_decoder gold; design -stash gold; design -copy-from gold -as gold gold; "
    "design -copy-from gate -as gate gate; miter -equiv -flatten -make_outputs gold gate top; hierarchy -top top; "
    "async2sync; opt_expr; opt_clean; write_rtlil top.il"
)
"""Two runs of Yosys, since it says nothing more once its own ABC has run."""


def equal_netlist(design: str, family: str, *, change: str = "") -> Verdict:
    """Whether a synthesised netlist is the design it came from, clock by clock, from the start values on.

    Args:
        design: what `axi_rtlil` gives.
        family: one of `FAMILIES`.
        change: Yosys commands, each with its semicolon, that change the netlist before it is compared, to see
            that it is noticed.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "gold.il").write_text(design, encoding="utf-8")
        synthesis = f"read_rtlil gold.il; synth_{family} -top utf8_decoder; write_rtlil gate.il"
        run_tool("yosys", ["-q", "-p", synthesis], directory=directory)
        script = _COMPARE.format(cells=FAMILIES[family], change=change)
        run_tool("yosys", ["-q", "-p", script], directory=directory)
        text = (directory / "top.il").read_text(encoding="utf-8")
    if not _one_clock(text):
        return Verdict(False, 0)
    aig = aig_of(text)
    return decide({"netlist": (aig, aig.output_bits["trigger"][0])})["netlist"]


def _one_clock(design: str) -> bool:
    """Whether all that keeps a value does so at the rising edge of one input, which a graph does not say."""
    clocks = set()
    for cell in re.findall(r"^  cell \$.*?^  end$", design, re.MULTILINE | re.DOTALL):
        clock = re.search(r"^    connect \\CLK (.*)$", cell, re.MULTILINE)
        if clock and not re.search(r"^    parameter \\CLK_ENABLE (?:1')?0$", cell, re.MULTILINE):
            rises = re.search(r"^    parameter \\CLK_POLARITY (?:1')?1$", cell, re.MULTILINE)
            clocks.add(clock[1] if rises else "")
    return clocks == {"\\in_clk"}
