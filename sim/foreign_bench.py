# SPDX-License-Identifier: BSD-2-Clause
"""A test bench in plain Verilog that shows a difference of a foreign core."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Signal, Value

from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.beats import BeatEncoder, text_beats
from utf8fpga.sim.foreign_core import PARTIAL, ForeignCore
from utf8fpga.sim.report import Failure, Finding

_MOST_SHOWN = 100
"""Characters of an input or output in a comment."""


def foreign_testbench(core: ForeignCore, finding: Finding, sources: Sequence[str]) -> str:
    """A test bench in Verilog-2005 that sends the input of a finding to a foreign core and checks the output.

    Args:
        finding: the defect and its shortest run.
        sources: the names of the files of the core and of the bench, which its comment states.
    """
    failure, ports, lanes = finding.shortest, core.ports, core.lanes
    name = plain_name(core)
    beats = list(_beats(core, failure))
    pauses = {"in": failure.input_pauses, "out": failure.output_pauses if ports.has_back_pressure else "0"}
    contents = [f"beats[{number}] = {9 * lanes + 1}'h{beat:x};" for number, beat in enumerate(beats)]
    contents += [f"expected[{number}] = 33'h{word:x};" for number, word in enumerate((*failure.words, 0))]
    contents += [f"ends[{number}] = {end};" for number, end in enumerate(failure.ends)]
    text = files("utf8fpga.sim").joinpath("foreign_bench.v").read_text(encoding="utf-8")
    bench = Template(text).substitute(
        name=name,
        bench=f"{name}_bench",
        check=f"{name}_check",
        adapter=f"{name}_adapter",
        files=shlex.join(sources),
        defect=finding.defect,
        input=_shown(failure.input),
        expected=_shown(" ".join(failure.expected) or "nothing"),
        given=_shown(
            " ".join(filter(None, [" ".join(failure.given) or "nothing", failure.reason and f"({failure.reason})"]))
        ),
        lanes=lanes,
        words=lanes_of(core.output),
        beat_count=len(beats),
        expected_count=len(failure.words),
        text_count=len(failure.texts),
        resets=int(not ports.has_end),
        validator=int(ports.kind == "validator"),
        has_last=int("last" in ports.output),
        handshake=int(ports.protocol == "axi-stream"),
        patience=core.stall_cycles,
        partial=PARTIAL,
        contents="\n".join(f"    {line}" for line in contents),
        # A repeated digit has a second bit, without which there is no part of the pattern to select.
        **{f"{side}_pauses": f"{len(digits)}'b{digits[::-1]}" for side, digits in pauses.items()},
        **{f"last_{side}_pause": str(len(digits) - 1) for side, digits in pauses.items()},
    )
    script = "read_rtlil adapter.il; proc; flatten; opt; opt_clean -purge; write_verilog -noattr adapter.v"
    (adapter,) = run_yosys(script, {"adapter.il": _adapter(core)}, "adapter.v")
    return bench + adapter.decode()


def plain_name(core: ForeignCore) -> str:
    """The name of the core's module without characters that other names may not have."""
    return re.sub(r"\W|^(?=\d)", "_", core.name, flags=re.ASCII)


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."


def _beats(core: ForeignCore, failure: Failure) -> Iterator[int]:
    """The input beats of a failure: last, keep and bytes, the last ones in the low bits."""
    encode = BeatEncoder(core, core.entry)
    for text in failure.texts:
        yield from map(encode, text_beats(text, core.lanes))


def _adapter(core: ForeignCore) -> str:
    """The core between streams whose fields are ports, in RTLIL; the foreign module has its own name."""
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.core = core
    given, made = core.input.payload, core.output.payload
    fields = {
        "in_bytes": Value.cast(given.symbols),
        "in_keep": Value.cast(given.keep),
        "in_last": given.last,
        "in_valid": core.input.valid,
        "out_words": Value.cast(made.symbols),
        "out_keep": Value.cast(made.keep),
        "out_last": made.last,
        "out_ready": core.output.ready,
    }
    ports = {"clk": domain.clk, "rst": domain.rst, "in_ready": core.input.ready, "out_valid": core.output.valid}
    ports["violation"] = core.violation
    for name, value in fields.items():
        ports[name] = port = Signal(len(value), name=name)
        m.d.comb += port.eq(value) if name.startswith("out_") and name != "out_ready" else value.eq(port)
    directed = {name: (signal, None) for name, signal in ports.items()}
    text = rtlil.convert(m, name=f"{plain_name(core)}_adapter", ports=directed, emit_src=False)
    return re.sub(r"(?m)^(\s*cell )\\foreign ", lambda found: f"{found[1]}\\{core.name} ", text)
