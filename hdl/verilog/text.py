# SPDX-License-Identifier: BSD-2-Clause
"""The text of Verilog modules as Yosys writes it, in the usual style."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from utf8fpga.hdl.verilog.expressions import Statement, insert, is_unnamed

__all__ = ["polished", "with_port_attributes", "with_ram_style"]

_MODULE = re.compile(r"^module (\w+)\(([^)]*)\);\n(.*?)^endmodule\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  (input|output) (\[[^]]+\] )?(\w+);\n", re.MULTILINE)
_WIRE = re.compile(r"^  (wire|reg) (\[[^]]+\] )?(\w+)( = [^;]+)?;\n", re.MULTILINE)
_MEMORY = re.compile(r"^  reg \[[^]]+\] \w+ \[[^]]+\];\n", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^  assign ([^=]+) = (.+);\n", re.MULTILINE)
_PROCESS = re.compile(r"^  always @\(posedge clk\)(?: begin)?\n((?:    .*\n)+)(?:  end\n)?", re.MULTILINE)
_REPEATED = re.compile(r"(?<=[{,] )(\w+(?:\[\d+\])?)(?:, \1(?=,| }))+")

_LINE = 120
"""Upper bound on the characters of a line."""


def polished(text: str) -> str:
    """Modules in the style of IEEE Std 1364-2005, shorter than Yosys writes them, with the same meaning.

    Ports are declared in the list of ports, initial values are in a block, all registers are in one process, and
    a signal of one bit without a name that is used once is replaced by its expression.

    The header that Yosys writes, with its version, is omitted.

    Args:
        text: the modules, as Yosys's ``write_verilog -noattr`` writes them, with plain identifiers only.
    """
    return "\n".join(_module(*found.groups()) for found in _MODULE.finditer(text))


def with_ram_style(text: str, ram_style: str) -> str:
    """Modules with an attribute, such as ``ram_style=distributed``, of each memory."""
    name, _, value = ram_style.partition("=")
    return _MEMORY.sub(lambda found: f'  (* {name} = "{value}" *)\n{found[0]}', text)


def with_port_attributes(text: str, attributes: Mapping[str, Mapping[str, str]]) -> str:
    """Modules with attributes of the ports of the first one.

    Args:
        text: the modules, as `polished` writes them.
        attributes: for each port the values of its attributes by name.
    """
    ports, end, rest = text.partition("\n);\n")
    for port, values in attributes.items():
        lines = "".join(f'  (* {name} = "{value}" *)\n' for name, value in values.items())
        ports = re.sub(rf"^  (?:input|output) [^,\n]*\b{port}(?=,?$)", rf"{lines}\g<0>", ports, flags=re.MULTILINE)
    return ports + end + rest


def _module(name: str, ports: str, body: str) -> str:
    directions = {port: (direction, width or "") for direction, width, port in _PORT.findall(body)}
    wires = {wire: (kind, width or "", value) for kind, width, wire, value in _WIRE.findall(body)}
    declared = [
        f"  {directions[port][0]} {wires[port][0]} {directions[port][1]}{port}" for port in re.findall(r"\w+", ports)
    ]
    initial = [f"    {wire}{value};" for wire, (_, _, value) in wires.items() if value]
    body = _WIRE.sub("", _PORT.sub("", body))
    memories = _MEMORY.findall(body)
    processes = [_statement(found[1].split()) for found in _PROCESS.finditer(body)]
    assignments = {target: value.replace("~ ", "~") for target, value in _ASSIGNMENT.findall(body)}
    instances = _ASSIGNMENT.sub("", _PROCESS.sub("", _MEMORY.sub("", body)))
    inserted = insert(assignments, processes, instances, {wire for wire, (_, width, _) in wires.items() if not width})
    local = [
        (f"{kind} {width}", wire)
        for wire, (kind, width, _) in wires.items()
        if wire not in directions and wire not in inserted
    ]
    lines = [
        *_declarations((kind, wire) for kind, wire in local if not is_unnamed(wire)),
        *_declarations((kind, wire) for kind, wire in local if is_unnamed(wire)),
        *(memory.rstrip() for memory in memories),
        *(_assignment(target, value) for target, value in assignments.items()),
        *instances.splitlines(),
    ]
    if processes:
        lines += ["  always @(posedge clk) begin", *_block(processes, "    "), "  end"]
    if initial:
        # Values in the declarations would be second drivers beside the process for some tools.
        lines += ["  initial begin", *initial, "  end"]
    lines = [part for line in lines for part in _wrapped(line)]
    return f"module {name} (\n" + ",\n".join(declared) + "\n);\n" + "\n".join(lines) + "\nendmodule\n"


def _wrapped(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    if "{" in line:
        # A concatenation is divided between its elements.
        line = re.sub("(?<!,) ", "\0", line.strip())
    lines = textwrap.wrap(
        line.strip(),
        _LINE,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def _declarations(wires: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Declarations, one for all wires of the same type."""
    kinds: dict[str, list[str]] = {}
    for kind, wire in wires:
        kinds.setdefault(kind, []).append(wire)
    for kind, names in kinds.items():
        yield f"  {kind.rstrip()} {', '.join(names)};"


def _assignment(target: str, value: str) -> str:
    return f"  assign {target} = {_without_repetitions(value)};"


def _without_repetitions(value: str) -> str:
    def replicated(found: re.Match[str]) -> str:
        return f"{{{found[0].count(',') + 1}{{{found[1]}}}}}"

    return _REPEATED.sub(replicated, value)


def _statement(words: list[str]) -> Statement:
    """Parse a statement, of which the words are removed."""
    if words[0] != "if":
        text = []
        while True:
            text.append(words.pop(0))
            if text[-1].endswith(";"):
                return Statement(" ".join(text))
    words.pop(0)
    condition = [words.pop(0)]
    while " ".join(condition).count("(") > " ".join(condition).count(")"):
        condition.append(words.pop(0))
    found = Statement(" ".join(condition), _branch(words))
    if words and words[0] == "else":
        words.pop(0)
        found.otherwise = _branch(words)
    return found


def _branch(words: list[str]) -> list[Statement]:
    """Parse the statements of a branch, of which the words are removed."""
    if words[0] != "begin":
        return [_statement(words)]
    words.pop(0)
    found = []
    while words[0] != "end":
        found.append(_statement(words))
    words.pop(0)
    return found


def _block(statements: Iterable[Statement], indent: str) -> Iterator[str]:
    """The lines of statements that do not depend on each other, in one block for each condition."""
    conditions: dict[str, Statement] = {}
    for each in statements:
        if not each.then:
            yield f"{indent}{_without_repetitions(each.text)}"
        else:
            joined = conditions.setdefault(each.text, Statement(each.text))
            joined.then += each.then
            joined.otherwise += each.otherwise
    for each in conditions.values():
        yield f"{indent}if {each.text} begin"
        yield from _block(each.then, f"{indent}  ")
        if each.otherwise:
            yield f"{indent}end else begin"
            yield from _block(each.otherwise, f"{indent}  ")
        yield f"{indent}end"
