# SPDX-License-Identifier: BSD-2-Clause
"""The description of a core's Verilog module in IP-XACT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from utf8fpga.hdl.axi_stream import PortOptions
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import parameters_of
from utf8fpga.hdl.verilog.writer import WrittenModule

_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"


def axi_ip_xact(
    core: Core,
    name: str | None = None,
    *,
    options: PortOptions | None = None,
    command: Sequence[str] | None = None,
    verilog: str | None = None,
) -> str:
    """The module that `axi_verilog` writes as a component of IP-XACT (IEEE Std 1685-2014).

    Streams have the bus definition of Arm, that of a tap as a monitor. The standard defines none for clock and reset,
    which have those of Xilinx.

    Args:
        core, name, options, command: see `axi_assertions`.
        verilog: the path of the Verilog file, relative to that of the description; default: the name with ``.v``.
    """
    written = WrittenModule.of(core, name, options, command)
    name, ports = written.name, written.ports
    files = _node(
        "fileSet",
        *_texts(name="verilog"),
        _node("file", *_texts(name=verilog or f"{name}.v", fileType="verilogSource")),
    )
    module = _node("componentInstantiation", *_texts(name="verilog", language="verilog", moduleName=name))
    module.append(_node("fileSetRef", *_texts(localName="verilog")))
    view = _node("view", *_texts(name="verilog", componentInstantiationRef="verilog"))
    component = _node(
        "component",
        *_texts(vendor="utf8fpga", library="verilog", name=name, version=version("utf8fpga")),
        _node("busInterfaces", *_interfaces(ports, written.options)),
        _node(
            "model",
            _node("views", view),
            _node("instantiations", module),
            _node("ports", *(_port(port, way == "input", width) for port, (way, width) in ports.items())),
        ),
        _node("fileSets", files),
        # Comments cannot contain the hyphens of options.
        *_texts(description=f"{' '.join(parameters_of(core).description())} Command: {written.command}"),
        **{"xmlns:ipxact": _NAMESPACE},
    )
    ElementTree.indent(component)
    text = ElementTree.tostring(component, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: BSD-2-Clause -->\n{text}\n'


def _node(tag: str, *children: Element, **attributes: str) -> Element:
    node = Element(f"ipxact:{tag}", attributes)
    node.extend(children)
    return node


def _texts(**texts: str) -> Iterator[Element]:
    """Elements that contain a text."""
    for tag, text in texts.items():
        node = _node(tag)
        node.text = text
        yield node


def _port(name: str, is_input: bool, width: int) -> Element:
    vectors = [_node("vectors", _node("vector", *_texts(left=str(width - 1), right="0")))] if width > 1 else []
    return _node("port", *_texts(name=name), _node("wire", *_texts(direction="in" if is_input else "out"), *vectors))


def _interfaces(ports: Mapping[str, Any], options: PortOptions) -> Iterator[Element]:
    streams: dict[str, dict[str, str]] = {}
    for port in ports:
        stream, _, signal = port.rpartition("_")
        if stream.endswith("_axis"):
            streams.setdefault(stream, {})[signal.upper()] = port
    for stream, signals in streams.items():
        mode = _node("slave" if stream == "s_axis" else "master")
        if all(ports[port][0] == "input" for port in signals.values()):
            mode = _node("monitor", interfaceMode="slave")
        yield _interface(stream, "amba.com AMBA4 AXI4Stream r0p0_1", signals, mode)
    reset = options.reset
    associated = {"ASSOCIATED_BUSIF": ":".join(streams), "ASSOCIATED_RESET": reset}
    yield _interface("clk", "xilinx.com signal clock 1.0", {"CLK": "clk"}, _node("slave"), associated)
    polarity = {"POLARITY": "ACTIVE_LOW" if options.reset_low else "ACTIVE_HIGH"}
    yield _interface(reset, "xilinx.com signal reset 1.0", {"RST": reset}, _node("slave"), polarity)


def _interface(
    name: str, bus: str, signals: Mapping[str, str], mode: Element, parameters: Mapping[str, str] | None = None
) -> Element:
    definition = dict(zip(("vendor", "library", "name", "version"), bus.split(), strict=True))
    maps = [
        _node("portMap", _node("logicalPort", *_texts(name=signal)), _node("physicalPort", *_texts(name=port)))
        for signal, port in signals.items()
    ]
    abstraction = _node("abstractionRef", **definition | {"name": f"{definition['name']}_rtl"})
    values = [
        # Values are expressions, hence the quotation marks.
        _node("parameter", *_texts(name=key, value=f'"{value}"'), parameterId=f"{name}_{key}", type="string")
        for key, value in (parameters or {}).items()
    ]
    return _node(
        "busInterface",
        *_texts(name=name),
        _node("busType", **definition),
        _node("abstractionTypes", _node("abstractionType", abstraction, _node("portMaps", *maps))),
        mode,
        *([_node("parameters", *values)] if values else []),
    )
