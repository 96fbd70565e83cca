# SPDX-License-Identifier: BSD-2-Clause
"""Netlists: the models of the cells, netlists that are equal to the core in every cycle, and one wrong cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.builds import needs_tools
from support.engines import assert_equal_runs, requires_compiler
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.netlist import FAMILIES as READ_CELLS
from utf8fpga.hdl import CORES, CoreParameters, DecoderParameters
from utf8fpga.hdl.toolchain import ToolError, run_tool
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim import Netlist, Simulation, compare, simulate
from utf8fpga.sim.engines import netlist
from utf8fpga.sim.engines.compiled import core_rtlil
from utf8fpga.sim.engines.native import source
from utf8fpga.sim.engines.netlist import FAMILIES, NetlistCircuit

# The models are equal to those of Yosys.

ICE40_FLIP_FLOPS = {
    "SB_DFF": "",
    "SB_DFFE": "E",
    "SB_DFFSR": "R",
    "SB_DFFSS": "S",
    "SB_DFFESR": "ER",
    "SB_DFFESS": "ES",
}
YES_NO = ('"YES"', '"NO"')


@dataclass(frozen=True)
class Cell:
    """A cell with parameters, its inputs and outputs with their widths, and its clocks."""

    name: str
    parameters: Mapping[str, Any]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    clocks: Sequence[str] = ()


Cells = Callable[[], Iterator[Cell]]


def bits(names: str) -> dict[str, int]:
    return dict.fromkeys(names.split(), 1)


def ice40_cells() -> Iterator[Cell]:
    for init in ("16'h8000", "16'h6996", "16'h2b4d"):
        yield Cell("SB_LUT4", {"LUT_INIT": init}, bits("I0 I1 I2 I3"), bits("O"))
    yield Cell("SB_CARRY", {}, bits("CI I0 I1"), bits("CO"))
    for name, pins in ICE40_FLIP_FLOPS.items():
        yield Cell(name, {}, bits(" ".join("D" + pins)), bits("Q"), ["C"])
    logic = ("CARRY_ENABLE", "DFF_ENABLE", "SET_NORESET", "ASYNC_SR", "CIN_CONST", "CIN_SET")
    for values in product((0, 1), repeat=len(logic)):
        parameters = dict(zip(logic, values, strict=True))
        # The carry output is undefined without a carry.
        outputs = bits("O LO COUT") if parameters["CARRY_ENABLE"] else bits("O LO")
        parameters["LUT_INIT"] = "16'h2b4d"
        yield Cell("ICESTORM_LC", parameters, bits("I0 I1 I2 I3 CIN CEN SR"), outputs, ["CLK"])


def ecp5_cells() -> Iterator[Cell]:
    for init in ("16'h8000", "16'h6996", "16'h2b4d"):
        yield Cell("LUT4", {"INIT": init}, bits("A B C D"), bits("Z"))
    yield Cell("PFUMX", {}, bits("ALUT BLUT C0"), bits("Z"))
    yield Cell("L6MUX21", {}, bits("D0 D1 SD"), bits("Z"))
    for low, high in product(YES_NO, repeat=2):
        parameters = {"INIT0": "16'h2b4d", "INIT1": "16'h96aa", "INJECT1_0": low, "INJECT1_1": high}
        yield Cell("CCU2C", parameters, bits("CIN A0 B0 C0 D0 A1 B1 C1 D1"), bits("S0 S1 COUT"))
    for values in product(
        ('"1"', '"0"', '"INV"', '"CE"'), ('"LSR"', '"INV"'), ('"SET"', '"RESET"'), ('"LSR_OVER_CE"', '"ASYNC"')
    ):
        parameters = dict(zip(("CEMUX", "LSRMUX", "REGSET", "SRMODE"), values, strict=True))
        yield Cell("TRELLIS_FF", parameters, bits("DI CE LSR"), bits("Q"), ["CLK"])
    for enable in ('"WRE"', '"INV"', '"1"', '"0"'):
        parameters = {"WREMUX": enable, "INITVAL": "64'hfedcba9876543210"}
        yield Cell("TRELLIS_DPR16X4", parameters, {"DI": 4, "WAD": 4, "RAD": 4, "WRE": 1}, {"DO": 4}, ["WCK"])


def harness(cells: Sequence[Cell], model: str) -> str:
    """A module of which the output is some cells' outputs, and all inputs of one name are connected."""
    inputs = {name: width for cell in cells for name, width in cell.inputs.items()}
    ports, body = ["input clk", *(f"input [{width - 1}:0] {name}" for name, width in inputs.items())], []
    for number, cell in enumerate(cells):
        ports += [f"output [{width - 1}:0] o{number}_{name}" for name, width in cell.outputs.items()]
        pins = [f".{name}({name})" for name in cell.inputs] + [f".{name}(clk)" for name in cell.clocks]
        pins += [f".{name}(o{number}_{name})" for name in cell.outputs]
        values = ", ".join(f".{name}({value})" for name, value in cell.parameters.items())
        body.append(f"{cell.name} #({values}) c{number}({', '.join(pins)});")
    return f"module {model}({', '.join(ports)});\n" + "\n".join(body) + "\nendmodule\n"


def difference(cells: Sequence[Cell], family: str, models: str, folder: Path) -> str:
    """A circuit whose output `trigger` is 1 if the models differ from those of Yosys, in RTLIL."""
    (folder / "cells.v").write_text(models)
    for name in ("gold", "gate"):
        (folder / f"{name}.v").write_text(harness(cells, name))
    # Yosys's models ask whether a pin is unconnected, which none is.
    made = (
        "hierarchy -top {0}; proc; flatten; chtype -set $eq t:$eqx; opt -full; memory_collect; setundef -zero -init; "
        "setundef -zero -undriven; opt_clean; design -stash {0}; "
    )
    script = (
        f"{READ_CELLS[family]}; read_verilog gold.v; {made.format('gold')}"
        f"read_verilog cells.v; read_verilog gate.v; {made.format('gate')}"
        "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
        "miter -equiv -flatten -make_outputs gold gate top; hierarchy -top top; async2sync; opt_expr; opt_clean; "
        "write_rtlil top.il"
    )
    run_tool("yosys", ["-q", "-p", script], directory=folder)
    return (folder / "top.il").read_text()


def are_equal(cells: Sequence[Cell], family: str, models: str, folder: Path) -> bool:
    aig = aig_of(difference(cells, family, models, folder))
    return decide({"cells": (aig, aig.output_bits["trigger"][0])})["cells"].proved is True


CELLS = {"ice40": ("ice40", ice40_cells), "ecp5": ("ecp5", ecp5_cells)}


@pytest.mark.parametrize(("family", "cells"), tiered(CELLS, ["ice40"]))
def test_models_of_cells_are_those_of_yosys(family: str, cells: Cells, tmp_path: Path) -> None:
    assert are_equal(list(cells()), family, source(f"{family}.v"), tmp_path)


WRONG_MODELS = {
    "bits of a LUT": ("ice40", ice40_cells, "LUT_INIT[{I3, I2, I1, I0}]", "LUT_INIT[{I3, I2, I0, I1}]"),
    "reset without enable": ("ice40", ice40_cells, "if (E) Q <= D & ~R", "if (E | R) Q <= D & ~R"),
    "carry": ("ecp5", ecp5_cells, "? 1'b0 : generates", "? generates : generates"),
    "initial value": ("ecp5", ecp5_cells, "initial Q = VALUE", "initial Q = 0"),
}


@pytest.mark.parametrize(("family", "cells", "right", "wrong"), tiered(WRONG_MODELS, ["bits of a LUT", "carry"]))
def test_a_wrong_model_of_a_cell_is_detected(family: str, cells: Cells, right: str, wrong: str, tmp_path: Path) -> None:
    models = source(f"{family}.v")
    assert right in models
    assert not are_equal(list(cells()), family, models.replace(right, wrong), tmp_path)


# Netlists are equal to the core.


def check_that_engines_agree(parameters: CoreParameters, netlist: Netlist, examples: int) -> None:
    python = Simulation(parameters.build(), parameters, netlist=netlist)
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
    netlist.write_json(core_rtlil(DecoderParameters().build()), folder, "netlist.json")
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
    plain = Simulation(DecoderParameters().build(), engine="netlist", netlist=Netlist("ice40", routed=routed))
    assert compare(plain, TEXT, output_pauses=[True, False]) is None
    wrong = Simulation(plain.core, engine="netlist", netlist=with_a_wrong_bit(plain.netlist, tmp_path))
    found = compare(wrong, TEXT, output_pauses=[True, False])
    words = ["--engine", "netlist", "--family", "ice40", *["--routed"] * routed]
    assert "--vcd" not in str(found)
    assert not found.replay or found.replay[-len(words) :] == tuple(words)


@requires_compiler
@pytest.mark.slow
def test_a_cell_without_a_model_is_rejected() -> None:
    change = "chtype -set SB_DFFN top/t:SB_DFF;"
    simulation = Simulation(DecoderParameters().build(), engine="netlist", netlist=Changed(changes=change))
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
    simulation = Simulation(DecoderParameters().build(), engine="netlist")
    with pytest.raises(InvalidArgumentError, match=r"^compiled models have no waveforms: leave out vcd "):
        simulation.run([b"A"], vcd=tmp_path / "wave.vcd")


def test_a_model_is_that_of_the_router_and_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for version in ("1", "2"):
        monkeypatch.setattr(netlist, "present_version", lambda tool, version=version: version)
        keys += [[*Netlist("ice40", routed).circuit("design").key] for routed in (False, True)]
    assert keys[0] == keys[2]
    assert len({tuple(key) for key in keys}) == 3


@requires_compiler
@pytest.mark.slow
def test_the_function_simulates_netlists() -> None:
    assert simulate(b"A\xc3", engine="netlist", netlist=Netlist("ecp5")) == simulate(b"A\xc3")
