# SPDX-License-Identifier: BSD-2-Clause
"""Certificates of proofs, for `utf8fpga-verify`, which checks them with no code of this package but its statement.

A certificate is about the written Verilog of a decoder within the statement of that program, not about the monitors of
`properties`. Its invariant is the one that ABC's property directed reachability finds: clauses over registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from importlib.resources import files
from pathlib import Path
from typing import Any

from utf8fpga.formal.abc import invariant
from utf8fpga.formal.aiger import Aig, GateList, read_aig
from utf8fpga.formal.answers import kept
from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.cycles import next_cycle
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import DecoderParameters, axi_verilog
from utf8fpga.hdl.toolchain import run_yosys

_INVARIANTS = {
    Property.EQUIVALENCE: "equivalence",
    # An invariant holds from power-up on, and from a reset on.
    Property.POWER_UP: "equivalence",
    Property.STEADY: "steady",
    Property.STALL: "stall",
    Property.LATENCY: "latency",
    Property.INDEPENDENCE: "",
}
"""The properties that the statement has, by the names of their invariants; independence needs none."""

_SECONDS = 120
"""Upper bound on the time limit for an invariant. For `stall` of four lanes, twenty minutes were not enough."""

_READ = (
    "read_verilog {defines} core.v statement.v; hierarchy -check -top statement; proc; flatten; opt_clean -purge; "
    "memory_collect; memory_map; setundef -zero; opt_clean -purge; techmap; opt_expr; dffunmap; aigmap; "
    "opt_clean -purge; write_aiger -ascii -symbols circuit.aag; write_aiger -symbols circuit.aig"
)


@dataclass(frozen=True)
class Certificate:
    """A certificate, or the reason why there is none.

    Attributes:
        text: a few words about it, or the reason.
    """

    text: str
    files: dict[str, bytes] = field(default_factory=dict, repr=False)

    def write(self, folder: Path) -> None:
        """Write the files into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def certify(configuration: Configuration, wanted: str, *, seconds: int) -> Certificate:
    """The certificate of a property of a core.

    Args:
        seconds: time limit for the invariant, of which at most `_SECONDS` are used.
    """
    name = _INVARIANTS.get(Property(wanted)) if wanted in list(Property) else None
    if name is None:
        return Certificate("no certificate: not in the statement")
    seconds = min(seconds, _SECONDS)
    core = configuration.build()
    if reason := _reason(getattr(core, "parameters", None)):
        return Certificate(f"no certificate: {reason}")
    if name == "latency" and core.parameters.lanes > 1:
        return Certificate("no certificate: the latency of one lane only is in the statement")
    circuit = kept(("certificate", configuration.call), lambda: _Circuit.of(core))
    found = {"core.v": circuit.verilog, "circuit.aag": circuit.text}
    if not name:
        return Certificate("certificate without an invariant", found)
    key = "invariant", configuration.call, name, seconds
    (clauses,) = kept(key, lambda: (invariant(circuit.started(f"bad_{name}"), 0, seconds=seconds),))
    if clauses is None:
        return Certificate(f"no certificate: no invariant was found in {seconds} s")
    lines = circuit.clauses(clauses)
    found[f"{name}.inv"] = "".join(f"{line}\n" for line in lines).encode()
    return Certificate(f"certificate of {len(lines)} clauses", found)


@singledispatch
def _reason(parameters: Any) -> str:
    """Why the statement is not about a core; empty if it is."""
    return "the statement is of decoders of UTF-8"


@_reason.register
def _(parameters: DecoderParameters) -> str:
    shape = {name: getattr(parameters, name) for name in ("lanes", "architecture", "pipeline", "packed", "buffer")}
    if parameters != DecoderParameters(**shape):
        return "the statement is of decoders of UTF-8 without further options"
    return "that words are contiguous is not in the statement" if parameters.packed else ""


@dataclass(frozen=True)
class _Circuit:
    """The Verilog of a decoder within the statement, as Yosys's text and as a graph; `first`: initial values."""

    verilog: bytes
    text: bytes
    aig: Aig
    first: list[int | None]

    @staticmethod
    def of(core: Any) -> _Circuit:
        verilog = axi_verilog(core).encode()
        macros = {"LANES": core.parameters.lanes, "LATENCY": core.latency, "STALL": core.stall_cycles}
        given = {"core.v": verilog, "statement.v": files("utf8fpga.verify").joinpath("statement.v").read_bytes()}
        script = _READ.format(defines=" ".join(f"-D{name}={value}" for name, value in macros.items()))
        text, graph = run_yosys(script, given, "circuit.aag", "circuit.aig")
        aig = read_aig(graph)
        rows = text.decode().splitlines()[1 + aig.inputs : 1 + aig.inputs + len(aig.latches)]
        values = [[*map(int, row.split()), 0][2] for row in rows]
        return _Circuit(verilog, text, aig, [value if value < 2 else None for value in values])

    def started(self, output: str) -> Aig:
        """The circuit, which is in any state after a reset, or has its initial values, once the last latch is 1.

        All latches start at 0, as ABC demands where it writes invariants. In the first cycle further inputs choose.
        """
        aig, latches = self.aig, len(self.aig.latches)
        gates = GateList.blank(aig.inputs + latches + 1, latches + 1)
        literals = [2 * n for n in range(1, 1 + gates.first)]
        inputs, chosen = literals[: aig.inputs], literals[aig.inputs : aig.inputs + latches]
        is_reset = literals[aig.inputs + latches]
        state, started = literals[-latches - 1 : -1], literals[-1]

        def select(condition: int, one: int, other: int) -> int:
            return gates.either(gates.both(condition, one), gates.both(condition ^ 1, other))

        (reset,) = aig.input_bits["reset"]
        inputs[reset] = gates.either(inputs[reset], started ^ 1)
        now = [select(started, *pair) for pair in zip(state, chosen, strict=True)]
        outputs, following = next_cycle(gates, aig, now, inputs)
        initial = [any_value if value is None else value for any_value, value in zip(chosen, self.first, strict=True)]
        runs = gates.either(started, is_reset)
        following = [select(runs, *pair) for pair in zip(following, initial, strict=True)]
        bad = gates.both(started, outputs[aig.output_bits[output][0]])
        return gates.graph([*following, 1], [bad], {}, {})

    def clauses(self, clauses: Sequence[Sequence[int]]) -> list[str]:
        """The lines of an invariant from clauses over the latches of `started`, where the last one is 1."""
        last = len(self.aig.latches)
        names = dict(line.split()[:2] for line in self.text.decode().splitlines() if line.startswith("l"))
        return [
            " ".join("!" * (each & 1) + names[f"l{each >> 1}"] for each in clause if each >> 1 != last)
            for clause in clauses
            if 2 * last not in clause
        ]
