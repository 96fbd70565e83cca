# SPDX-License-Identifier: BSD-2-Clause
"""Netlists that are equal to the core in every cycle, and one with a wrong cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.builds import needs_tools
from support.engines import assert_equal_runs, requires_compiler
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.hdl import CORES, CoreParameters, DecoderParameters, build
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim import Netlist, Simulation, compare
from utf8fpga.sim.engines.compiled import core_rtlil
from utf8fpga.sim.engines.netlist import FAMILIES, NetlistCircuit


def check_that_engines_agree(parameters: CoreParameters, netlist: Netlist, examples: int) -> None:
    python = Simulation(build(parameters), netlist=netlist)
    assert_equal_runs(python, python.on("netlist"), examples)


@requires_compiler
@pytest.mark.parametrize("family", tiered({name: name for name in FAMILIES}, ["ice40"]))
def test_a_netlist_is_equal_to_the_python_engine_in_every_cycle(family: str) -> None:
    check_that_engines_agree(DecoderParameters(), Netlist(family), 20)


SEVERAL_LANES = [
    DecoderParameters(lanes=2, packed=False, kind=True),
    DecoderParameters(lanes=4, packed=True),
    DecoderParameters(lanes=4, packed=False),
]
OTHER_CORES = [kind() for name, kind in CORES.items() if name != "decoder"]


@pytest.mark.build
@requires_compiler
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("parameters", [*SEVERAL_LANES, *OTHER_CORES], ids=lambda each: each.name)
def test_netlists_of_every_core_are_equal_to_the_python_engine(parameters: CoreParameters, family: str) -> None:
    check_that_engines_agree(parameters, Netlist(family), 50)


@pytest.mark.build
@requires_compiler
@pytest.mark.parametrize("parameters", [DecoderParameters(), SEVERAL_LANES[0]], ids=lambda each: each.name)
def test_routed_designs_are_equal_to_the_python_engine(parameters: CoreParameters) -> None:
    needs_tools("icebreaker")
    check_that_engines_agree(parameters, Netlist("ice40", routed=True), 50)


@dataclass(frozen=True)
class Changed(Netlist):
    """A netlist that Yosys commands have changed."""

    changes: str = ""

    def circuit(self, design: str) -> NetlistCircuit:
        return NetlistCircuit(design, self, self.changes)


def with_a_wrong_bit(netlist: Netlist, folder: Path) -> Changed:
    """The netlist of the default decoder that asserts `in_ready` for one more combination of inputs of its LUT."""
    netlist.write_json(core_rtlil(build(DecoderParameters())), folder, "netlist.json")
    module = json.loads((folder / "netlist.json").read_text())["modules"]["top"]
    cells = module["cells"]
    pads = [cell["connections"] for cell in cells.values() if cell["type"] == "SB_IO"]
    (net,) = module["ports"]["in_ready"]["bits"]
    net = next((pad["D_OUT_0"][0] for pad in pads if pad["PACKAGE_PIN"] == [net]), net)
    name = next(name for name, cell in cells.items() if cell["connections"].get("O") == [net])
    inputs = [[*cells[name]["connections"].get(f"I{number}", []), 0][0] for number in range(4)]
    unused = sum(1 << number for number, net in enumerate(inputs) if not isinstance(net, int) or net == 0)
    init = int(cells[name]["parameters"]["LUT_INIT"], 2)
    init |= 1 << next(at for at in range(16) if not at & unused and not init >> at & 1)
    return Changed(netlist.family, netlist.routed, f"setparam -set LUT_INIT 16'b{init:016b} top/{name};")


TEXT = b"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xe2\x82A\xed\xa0\x80" * 4


@requires_compiler
@pytest.mark.parametrize("routed", [False, pytest.param(True, marks=pytest.mark.build)])
def test_one_wrong_bit_of_a_lut_is_found(routed: bool, tmp_path: Path) -> None:
    if routed:
        needs_tools("icebreaker")
    plain = Simulation(build(DecoderParameters()), engine="netlist", netlist=Netlist("ice40", routed=routed))
    assert compare(plain, TEXT, output_pauses=[True, False]) is None
    wrong = Simulation(plain.core, engine="netlist", netlist=with_a_wrong_bit(plain.netlist, tmp_path))
    found = compare(wrong, TEXT, output_pauses=[True, False])
    words = ["--netlist", "ice40"]
    assert "--vcd" not in str(found)
    assert not found.replay or found.replay[-len(words) :] == tuple(words)


@requires_compiler
@pytest.mark.slow
def test_a_cell_without_a_model_is_rejected() -> None:
    change = "chtype -set SB_DFFN top/t:SB_DFF;"
    simulation = Simulation(build(DecoderParameters()), engine="netlist", netlist=Changed(changes=change))
    with pytest.raises(ToolError, match=r"^the compiled engine does not know the cell 'SB_DFFN' \(.*\)$"):
        simulation.run([b"A"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"family": "xc7"}, "family 'xc7' is not one of ice40, ecp5"),
        ({"family": "ecp5", "routed": True}, "routed designs are simulated for ice40, not for ecp5"),
    ],
)
def test_invalid_netlists_are_rejected(arguments: dict[str, Any], message: str) -> None:
    assert refusal(InvalidArgumentError, Netlist, **arguments) == message


@requires_compiler
def test_netlists_have_no_waveform(tmp_path: Path) -> None:
    simulation = Simulation(build(DecoderParameters()), engine="netlist")
    with pytest.raises(InvalidArgumentError, match=r"^compiled models have no waveforms: leave out vcd "):
        simulation.run([b"A"], vcd=tmp_path / "wave.vcd")
