# SPDX-License-Identifier: BSD-2-Clause
"""A foreign core: a decoder or validator from elsewhere, whose ports a description connects to two streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utf8fpga.model import TABLE_3_7
from utf8fpga.sim.foreign_module import CoreError, read_module
from utf8fpga.sim.foreign_ports import OWN_PORTS
from utf8fpga.sim.graph import Graph

WORD_BITS = 32
"""Bits of each of several code points, and upper bound on those of one."""

_LEAST_BITS = TABLE_3_7.last_code_point.bit_length()


class ForeignCore:
    """A foreign core.

    Args:
        top: its top module; default: the module that no other one instantiates.
        description: its ports, see `read_description`.

    Attributes:
        ports: the tables `input` and `output` of the description.
        module: the module.
        lanes: the bytes of an input beat.
        words: the words of an output beat.
        point_bits, keep_bits: the bits of the code point and of `keep` for each word.

    Raises:
        CoreError, ToolError: see `read_module`; CoreError also if the ports have other widths.
    """

    def __init__(
        self, files: Sequence[Path], top: str | None = None, description: Mapping[str, Any] = OWN_PORTS
    ) -> None:
        self.ports: dict[str, dict[str, str]] = {side: description.get(side, OWN_PORTS[side]) for side in OWN_PORTS}
        self.module = read_module(files, top, description)
        given, made = self.ports["input"], self.ports["output"]
        self.is_validator, self.has_end, self.has_back_pressure = (
            "code_point" not in made,
            "last" in given,
            "ready" in made,
        )
        # Whether a text without a byte can be sent, and whether a text can follow another one.
        self.sends_empty_texts = {"last", "keep"} <= given.keys()
        self.separates_texts = self.has_end or self.module.reset != ""
        self.lanes, points = max(1, self._width("input", "byte") // 8), self._width("output", "code_point")
        self.words, self.point_bits = max(1, points // WORD_BITS), min(points, WORD_BITS)
        self.keep_bits = max(1, self._width("output", "keep") // self.words)
        self._check()

    def _known(self, side: str, role: str) -> dict[str, int]:
        """The ports of the core in the direction of a role; that of `ready` is the other one."""
        return self.module.inputs if (side == "input") != (role == "ready") else self.module.outputs

    def _width(self, side: str, role: str) -> int:
        """The width of the port of a role; 0 where there is none."""
        return self._known(side, role).get(self.ports[side].get(role, "").removeprefix("!"), 0)

    def _check(self) -> None:
        """Check that each role has a port of the right width, and each input of the core a role."""
        module, words = self.module, self.words
        widths = {"input.byte": 8 * self.lanes, "input.keep": self.lanes, "output.error": words}
        widths |= {
            "output.code_point": words * max(self.point_bits, _LEAST_BITS),
            "output.keep": words * self.keep_bits,
        }
        for side, roles in self.ports.items():
            for role, name in roles.items():
                if self._width(side, role) != (wanted := widths.get(f"{side}.{role}", 1)):
                    known = ", ".join(f"{port} {width}" for port, width in self._known(side, role).items())
                    raise CoreError(
                        f"{module.where}: {name!r} for {side}.{role} is no port of {wanted} bits (such ports: {known})"
                    )
            if (self.lanes if side == "input" else words) > 1 and "keep" not in roles:
                raise CoreError(f"{module.where}: {side}.keep is missing: name the port")
        named = {name.removeprefix("!") for roles in self.ports.values() for name in roles.values()}
        if others := module.inputs.keys() - named:
            raise CoreError(f"{module.where}: neither named nor constant are the inputs {', '.join(sorted(others))}")

    def graph(self) -> Graph:
        """The core as a graph with the ports of `core_rtlil`.

        The input payload is the bytes, `keep` and `last` where the core has them; the output payload is code points,
        errors, `keep` and `last`.
        """
        graph = Graph.from_rtlil(self.module.rtlil)
        known = graph.inputs | graph.outputs

        def bits(side: str, role: str, *default: int) -> list[int]:
            """The literals of the port of a role, or else some."""
            name = self.ports[side].get(role)
            if name is None:
                return list(default)
            return [literal ^ name.startswith("!") for literal in known[name.removeprefix("!")]]

        # Nothing depends on the value of the clock, which stands for what is missing.
        clock = known[self.module.clock]
        graph.inputs |= {
            "rst": [literal ^ self.module.reset_low for literal in known.get(self.module.reset, clock)],
            "in_payload": [*bits("input", "byte"), *bits("input", "keep"), *bits("input", "last")],
            "in_valid": bits("input", "valid"),
            "out_ready": bits("output", "ready", *clock),
        }
        points, errors = bits("output", "code_point"), bits("output", "error", *[0] * self.words)
        keep = bits("output", "keep", *[1] * self.words)
        graph.outputs = {
            "in_ready": bits("input", "ready", 1),
            "out_valid": bits("output", "valid"),
            "out_payload": [*points, *errors, *keep, *bits("output", "last", 0)],
        }
        return graph
