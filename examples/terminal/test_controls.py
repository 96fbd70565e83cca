# SPDX-License-Identifier: BSD-2-Clause
"""The controls in Amaranth's simulator: sequences of ECMA-35 and ECMA-48 show nothing of themselves."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import Simulator
from controls import Command, Controls

from utf8fpga import decode


def commands_of(text: bytes) -> list[str]:
    """What the screen is told for a text: the characters with the numbers of their inks, and other commands."""
    controls, found = Controls(), []

    async def drive(context: Any) -> None:
        for item in decode(text):
            context.set(controls.items.payload, {"code_point": item.code_point, "cause": item.error or 0})
            context.set(controls.items.valid, 1)
            await context.tick().until(controls.items.ready)
        context.set(controls.items.valid, 0)

    async def receive(context: Any) -> None:
        context.set(controls.commands.ready, 1)
        async for _, _, valid, command in context.tick().sample(controls.commands.valid, controls.commands.payload):
            if valid:
                is_text = command.command == Command.WRITE
                found.append(f"{command.glyph:c}{command.colours.ink}" if is_text else command.command.name)

    simulator = Simulator(controls)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(receive, background=True)
    simulator.run()
    return found


SEQUENCES = {
    "ECMA-35 13.2, intermediate bytes: G0 is ASCII, as in sgr0 of terminfo": ("\x1b(B", ["A7"]),
    "ECMA-35 13.2, several intermediate bytes: G0 is a set of 94 by 94": ("\x1b$(B", ["A7"]),
    "ECMA-35 13.2, no introducer of CSI after an intermediate byte": ("\x1b([1", ["17", "A7"]),
    "DEC, screen alignment": ("\x1b#8", ["A7"]),
    "ECMA-48 8.3.89, OSC: the title of xterm, until ST": ("\x1b]0;title \xe9\x1b\\", ["A7"]),
    "xterm, OSC until BEL": ("\x1b]0;t\x07", ["A7"]),
    "xterm, OSC 8: a link": ("\x1b]8;;http://a/\x1b\\l\x1b]8;;\x1b\\", ["l7", "A7"]),
    "ECMA-48 8.3.27, DCS does not end with BEL": ("\x1bPa\x07b\x1b\\", ["A7"]),
    "ECMA-48 8.3.2, APC": ("\x1b_G1\x1b\\", ["A7"]),
    "ECMA-48 8.3.94, PM": ("\x1b^m\x1b\\", ["A7"]),
    "ECMA-48 8.3.128, SOS": ("\x1bXs\x1b\\", ["A7"]),
    "VT, CAN ends a string": ("\x1b]0;t\x18", ["A7"]),
    "VT, SUB ends a string": ("\x1bPt\x1a", ["A7"]),
    "VT, ESC ends a string and begins a sequence": ("\x1b]0;t\x1b[31m", ["A1"]),
    "ECMA-48 5.4, CSI with an intermediate byte": ("\x1b[31 m", ["A7"]),
    "ECMA-48 5.4, CSI with a private parameter": ("\x1b[>31m", ["A7"]),
    "ECMA-48 8.3.117, SGR": ("\x1b[1;31m", ["A1"]),
    "DEC, keypad": ("\x1b=\x1b>", ["A7"]),
    "a control within a sequence": ("\x1b(\n", ["NEW_LINE", "A7"]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_effect_of_a_sequence(name: str) -> None:
    text, commands = SEQUENCES[name]
    assert commands_of(f"{text}A".encode()) == commands


def test_ill_formed_bytes_in_a_string_are_part_of_it_and_others_are_shown() -> None:
    assert commands_of(b"\x1b]0;caf\xe9\x07A") == ["A7"]
    assert len(commands_of(b"\x1b(\xe9A")) == 2
