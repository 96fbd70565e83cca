# SPDX-License-Identifier: BSD-2-Clause
"""The controls in Amaranth's simulator: sequences of ECMA-35 and ECMA-48 with their effects."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import Simulator
from controls import Command, Controls

from utf8fpga import decode


def commands_of(text: bytes) -> list[str]:
    """What the screen is told for a text: the characters to write, and the names of the other commands."""
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
                found.append(chr(command.glyph) if is_text else command.command.name)

    simulator = Simulator(controls)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(receive, background=True)
    simulator.run()
    return found


SEQUENCES = {
    "ECMA-35 13.2, intermediate bytes: G0 is ASCII, as in sgr0 of terminfo": ("\x1b(B", []),
    "ECMA-35 13.2, several intermediate bytes: G0 is a set of 94 by 94": ("\x1b$(B", []),
    "ECMA-35 13.2, no introducer of CSI after an intermediate byte": ("\x1b([1", ["1"]),
    "ECMA-35 15.4, UTF-8": ("\x1b%G", []),
    "DEC, screen alignment": ("\x1b#8", []),
    "ECMA-48 8.3.89, OSC: the title of xterm, until ST": ("\x1b]0;title é\x1b\\", []),
    "xterm, OSC until BEL": ("\x1b]0;t\x07", []),
    "xterm, OSC 8: a link": ("\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\", ["l", "i", "n", "k"]),
    "ECMA-48 8.3.27, DCS: the terminal's name": ("\x1bP+q544e\x1b\\", []),
    "ECMA-48 8.3.27, DCS does not end with BEL": ("\x1bPa\x07b\x1b\\", []),
    "ECMA-48 8.3.2, APC": ("\x1b_G1\x1b\\", []),
    "ECMA-48 8.3.94, PM": ("\x1b^m\x1b\\", []),
    "ECMA-48 8.3.128, SOS": ("\x1bXs\x1b\\", []),
    "VT, CAN ends a string": ("\x1b]0;t\x18", []),
    "VT, SUB ends a string": ("\x1bPt\x1a", []),
    "VT, ESC ends a string and begins a sequence": ("\x1b]0;t\x1b[K", ["ERASE_LINE"]),
    "ECMA-48 5.4, CSI with an intermediate byte: the shape of the cursor": ("\x1b[2 q", []),
    "ECMA-48 5.4, CSI with a private parameter": ("\x1b[?25l", []),
    "ECMA-48 5.4, the final byte has another meaning after an intermediate one": ("\x1b[1 K", []),
    "ECMA-48 8.3.41, EL": ("\x1b[K", ["ERASE_LINE"]),
    "ECMA-48 8.3.39, ED": ("\x1b[2J", ["ERASE_SCREEN"]),
    "ECMA-48 8.3.21, CUP": ("\x1b[2;3H", ["MOVE"]),
    "ECMA-48 8.3.117, SGR": ("\x1b[1;31m", []),
    "DEC, keypad": ("\x1b=\x1b>", []),
    "ESC twice": ("\x1b\x1b[K", ["ERASE_LINE"]),
    "a control within a sequence": ("\x1b(\n", ["NEW_LINE"]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_effect_of_a_sequence(name: str) -> None:
    text, effect = SEQUENCES[name]
    assert commands_of(f"{text}A".encode()) == [*effect, "A"]


def test_ill_formed_bytes_in_a_string_are_part_of_it_and_others_are_shown() -> None:
    assert commands_of(b"\x1b]0;caf\xe9\x07A") == ["A"]
    assert len(commands_of(b"\x1b(\xe9A")) == 2
