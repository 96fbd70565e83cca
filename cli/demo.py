# SPDX-License-Identifier: BSD-2-Clause
"""The command `demo`: all steps from the table to the bitstream, on texts included in the package."""

from __future__ import annotations

import time
from importlib.resources import files
from itertools import chain, product
from pathlib import Path

from utf8fpga.boards.build import build_board, require_tools
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.boards.forms import Received, Words
from utf8fpga.boards.host import Conversation, check_items
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.cli.command import command
from utf8fpga.cli.options import directory_option
from utf8fpga.cli.output import CommandError, progress
from utf8fpga.cli.replay import with_replay
from utf8fpga.cli.show import Tally
from utf8fpga.hdl import decoder_core
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.model import DFA, TABLE_3_7, decode
from utf8fpga.model.render import counted, table_text
from utf8fpga.sim import HAS_GRAPH, Simulation, compare

TEXTS = ("multilingual.txt", "torture.txt")
"""A text in many scripts, and one with every cause of error."""

BOARD = "icebreaker"


@command("demo", "demo --directory build")
@directory_option
def demo(directory: str) -> None:
    """Show all steps: table, DFA, model, simulated core, bitstream, virtual board."""
    run_demo(Path(directory))


def run_demo(directory: Path) -> None:
    """Print the result of each step: table, DFA, golden model, simulated hardware, bitstream, virtual board."""
    began = time.monotonic()
    require_tools(BOARDS[BOARD])

    _title("1. Table 3-7, nine rows of byte ranges")
    print("\n".join(table_text(TABLE_3_7)))

    _title("2. Its minimal DFA")
    dfa = DFA.of(TABLE_3_7)
    print(f"{len(dfa.states)} states that are not reject, {len(dfa.classes)} byte classes; the states await:")
    print("; ".join(state.name for state in dfa.states))

    _title("3. The golden model")
    for name in TEXTS:
        tally = Tally()
        tally.add(list(decode(demo_text(name))))
        print(f"{name}: " + "\n".join(tally.lines()))

    _title("4. The decoder in simulated hardware, against the model on every byte")
    for optimize, name in product(OPTIMIZE, TEXTS):
        simulation, text = Simulation(decoder_core(optimize=optimize, kind=True)), demo_text(name)
        with progress(f"simulating {name}, {optimize}", len(text)) as done:
            if mismatch := compare(simulation, text, on_unit=done):
                raise CommandError(with_replay(mismatch), status=1)
        items = len(list(decode(text)))
        print(f"{optimize}, {name}: {counted(len(text), 'byte')}, {counted(items, 'item')}, all equal")

    _title(f"5. A bitstream for the board {BOARD}")
    with progress("synthesis, place and route"):
        print(build_board(BOARD, directory))

    _title(f"6. A virtual {BOARD}: {TEXTS[-1]} through its UART; the first item of each cause")
    if HAS_GRAPH:
        show_virtual_board(demo_text(TEXTS[-1]))
    else:
        print("Skipped, since Numba is not installed: pip install -e '.[fast]'")
    print(f"\nThe demo took {time.monotonic() - began:.0f} s.")


def show_virtual_board(text: bytes) -> None:
    """Send a text to a virtual board, compare what comes back with the model, and show the first item of each cause."""
    events = chain.from_iterable(Conversation(VirtualBoard(BOARD), Words).exchange([text]))
    found = [event for event in events if isinstance(event, Received)]
    check_items(found, text, Words)
    # The board sends whether an item is ill-formed; where it is and why, the host knows from the same text.
    first = {item.error: item for item in reversed(list(decode(text))) if item.error is not None}
    for error, item in sorted(first.items()):
        units = text[item.offset : item.offset + item.length].hex(" ").upper()
        print(f"ill-formed {units}: {error.name.lower().replace('_', ' ')}")
    print(f"\n{counted(len(text), 'byte')}, {counted(len(found), 'item')}, all equal")


def _title(text: str) -> None:
    print(f"\n{text}\n", flush=True)


def demo_text(name: str) -> bytes:
    """The content of one of `TEXTS`."""
    return files("utf8fpga").joinpath("texts", name).read_bytes()
