# SPDX-License-Identifier: BSD-2-Clause
"""Waveforms: read with pyvcd, and compared with what was simulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import wrap
from vcd.reader import TokenKind, tokenize

from utf8fpga.hdl import DecoderParameters, SerialDecoder, build, decoder_core
from utf8fpga.model import ErrorKind, decode
from utf8fpga.sim import ContractError, Simulation
from utf8fpga.sim.strategies import any_text, pauses
from utf8fpga.sim.waveform import _changes, _nets

FULL = {"kind": True}
TEXT = bytes.fromhex("E1 80 41 F0 9F 98 80 C2")


def declared(waveform: Path) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Scope, name and identifier of each declaration."""
    scope: list[str] = []
    with waveform.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scope.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scope.pop()
            elif token.kind is TokenKind.VAR:
                yield tuple(scope), token.var.reference, token.var.id_code


def samples(waveform: Path) -> Iterator[dict[tuple[str, ...], int | str]]:
    """The values of all nets in each cycle: those before the rising edge of the clock that ends the cycle.

    Args:
        waveform: a file of `recorded`.

    Yields:
        The values by scope and name, without the outermost scope: ``("input", "valid")``.
    """
    with waveform.open("rb") as source:
        names = {net.code: (*net.scope[1:], *net.path) for net in _nets(source)}
        values: dict[tuple[str, ...], int | str] = {}
        for _, changes in _changes(tokenize(source)):
            changed = {names[code]: int(value) if value in ("0", "1") else value for code, value in changes.items()}
            if changed.get(("clk",)) == 1 and values:
                yield values.copy()
            values |= changed


def recorded(tmp_path: Path, texts: list[bytes], *, output_pauses: Any = (False,), **parameters: Any) -> Path:
    """The waveform of a decoder."""
    waveform = tmp_path / "w.vcd"
    simulation_of(tuple(parameters.items())).run(texts, output_pauses=output_pauses, vcd=waveform)
    return waveform


@cache
def simulation_of(parameters: tuple[tuple[str, Any], ...]) -> Simulation:
    """A simulation of a decoder, which is built once."""
    return Simulation(build(DecoderParameters(**FULL, **dict(parameters))))


COMPONENTS = {
    "serial": ({}, ["input", "output", "state"]),
    "parallel": ({"lanes": 4, "packed": False}, ["input", "output", "window", "buffer"]),
    "parallel, registers": ({"lanes": 2, "packed": False}, ["input", "output", "window", "buffer"]),
    "packed": ({"lanes": 4, "packed": True}, ["input", "output", "window", "packer"]),
    "packed, with a buffer": ({"lanes": 2, "packed": True}, ["input", "output", "decoder", "packer"]),
}


@pytest.mark.smoke
@pytest.mark.parametrize(("parameters", "scopes"), COMPONENTS.values(), ids=COMPONENTS)
def test_streams_are_before_components(parameters: dict[str, Any], scopes: list[str], tmp_path: Path) -> None:
    found = list(declared(recorded(tmp_path, [TEXT], **parameters)))
    assert found[0][:2] == (("decoder",), "clk")
    assert list(dict.fromkeys(scope[1] for scope, _, _ in found if len(scope) > 1)) == scopes


@pytest.mark.parametrize("parameters", [parameters for parameters, _ in COMPONENTS.values()], ids=COMPONENTS)
def test_each_net_has_one_name_without_a_suffix(parameters: dict[str, Any], tmp_path: Path) -> None:
    found = list(declared(recorded(tmp_path, [TEXT], **parameters)))
    assert len({code for _, _, code in found}) == len({(scope, name) for scope, name, _ in found}) == len(found)
    assert not [name for _, name, _ in found if "$" in name]


def test_a_cycle_is_ten_nanoseconds_and_causes_and_states_have_names(tmp_path: Path) -> None:
    waveform = recorded(tmp_path, [TEXT])
    lines = waveform.read_text(encoding="utf-8").splitlines()
    assert "$timescale 1 ns $end" in lines
    (clock,) = (code for _, name, code in declared(waveform) if name == "clk")
    rises = [n for n, line in enumerate(lines) if line == f"1{clock}"]
    times = [next(int(line[1:]) for line in reversed(lines[:n]) if line.startswith("#")) for n in rises]
    assert times == list(range(5, 5 + 10 * len(times), 10))
    names = {line[1:].split()[0] for line in lines if line.startswith("s")}
    assert names >= {"NONE", "TRUNCATED", "INCOMPLETE", "START", "1_MORE", "2_MORE", "3_MORE"}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(any_text().map(bytes), max_size=3),
    pauses(),
    st.sampled_from([{}, {"optimize": "speed"}, {"lanes": 2, "packed": False}, {"lanes": 4}]),
)
def test_transfers_in_the_waveform_are_the_bytes_and_the_items(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], output_pauses: Any, parameters: dict[str, Any]
) -> None:
    waveform = recorded(tmp_path_factory.mktemp("w"), texts, output_pauses=output_pauses, **parameters)
    sent, received = bytearray(), []
    for values in samples(waveform):
        for lane in range(parameters.get("lanes", 1)):
            if values["input", "valid"] and values["input", "ready"] and int(values["input", "keep"]) >> lane & 1:
                sent.append(int(values["input", f"symbols_{lane}"]))
            if values["output", "valid"] and values["output", "ready"] and int(values["output", "keep"]) >> lane & 1:
                field = ("output", f"symbols_{lane}")
                kind = values[(*field, "kind")]
                error = None if kind == "NONE" else ErrorKind[str(kind)]
                received.append((values[(*field, "code_point")], error))
    assert bytes(sent) == b"".join(texts)
    assert received == [(item.code_point, item.error) for text in texts for item in decode(text)]


class NeverReady(SerialDecoder):
    """A decoder that accepts nothing."""

    def elaborate(self, platform: object) -> Module:
        inner = decoder_core(**FULL)
        m = wrap(inner, self)
        m.d.comb += [self.input.ready.eq(0), inner.input.valid.eq(0)]
        return m


def test_the_waveform_of_a_failure_is_kept(tmp_path: Path) -> None:
    waveform = tmp_path / "w.vcd"
    with pytest.raises(ContractError):
        Simulation(NeverReady(DecoderParameters(**FULL))).run([b"A"], vcd=waveform)
    assert all(values["input", "valid"] == 1 for values in samples(waveform))
