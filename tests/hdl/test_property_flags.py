# SPDX-License-Identifier: BSD-2-Clause
"""Flags of properties beside the items of every decoder: the logic, the circuits and the ports."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command import utf8fpga
from support.engines import ENGINE, requires_compiler
from support.tiers import tiered
from support.verilog_ports import declared_ports, header_of

from utf8fpga.hdl import DecoderParameters, axi_verilog, parameters_of
from utf8fpga.hdl.cover import cover
from utf8fpga.hdl.decoder.property_logic import PropertyLogic
from utf8fpga.model import (
    GENERALISED_UTF_8,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    EncodingTable,
    Practice,
    encode_units,
)
from utf8fpga.model.forms import CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS
from utf8fpga.model.properties import CharacterProperty, code_points_of, unicode_version
from utf8fpga.sim import Simulation
from utf8fpga.sim.bulk import compare_bulk
from utf8fpga.sim.strategies import stream_patterns, texts

ALL = tuple(CharacterProperty)
TABLES = {
    "utf-8": TABLE_3_7,
    "generalised": GENERALISED_UTF_8,
    "utf-16": UTF_16,
    "rfc-2279": RFC_2279,
    "cesu-8-code-units": CESU_8_CODE_UNITS,
    "modified-utf-8-code-units": MODIFIED_UTF_8_CODE_UNITS,
}

# The cover.


def test_a_cover_leaves_out_a_redundant_product() -> None:
    # The middle one of three overlapping products is not needed.
    on = [(0b0011, 0b01), (0b0010, 0b11), (0b0110, 0b10)]
    off = [(0b1100, 0b01), (0b1001, 0b10), (0b1000, 0b11)]
    assert len(cover(on, off, (0b1111, 0b11))) == 2


# The logic.


def encoded(table: EncodingTable) -> Iterator[tuple[Any, Any]]:
    """For each row all its code points, and their units, by the number of units after each."""
    for row in table.rows:
        points = np.arange(row.code_points.first, min(row.code_points.last, 0x11FFFF) + 1)
        index, units = points - row.code_points.first, []
        for allowed in reversed(row.units):
            units.append(allowed.first + index % len(allowed))
            index = index // len(allowed)
        if len(points):
            yield points, units


def flags_of(logic: PropertyLogic, units: list[Any], numbers: tuple[int, ...]) -> Any:
    """Whether one of some products is 1, for arrays of units."""
    found = np.zeros(len(units[0]), np.bool_)
    for number in numbers:
        holds = np.ones(len(units[0]), np.bool_)
        for back, condition in logic.products[number]:
            for digit in logic.units[condition]:
                table = np.array([logic.digits[digit].function.compute(value) for value in range(16)], np.bool_)
                holds &= table[units[back] >> logic.digits[digit].low & 15]
        found |= holds
    return found


@pytest.mark.parametrize("table", tiered(TABLES, ["utf-8"]))
def test_logic_of_every_code_point(table: EncodingTable) -> None:
    logic = PropertyLogic.of(table, ALL)
    rng = np.random.default_rng(1)
    for points, units in encoded(table):
        # The units before a sequence are arbitrary.
        before = [rng.integers(0, 1 << table.unit_width, len(points)) for _ in range(table.longest - len(units))]
        for wanted in ALL:
            expected = np.zeros(len(points), np.bool_)
            for each in code_points_of(wanted):
                expected |= (points >= each.first) & (points <= each.last)
            assert np.array_equal(flags_of(logic, [*units, *before], logic.sums[wanted]), expected), wanted


def test_logic_of_encoded_surrogates() -> None:
    logic = PropertyLogic.of(TABLE_3_7, (CharacterProperty.SURROGATE,))
    for first in range(256):
        for second in range(256):
            wanted = first == 0xED and second in range(0xA0, 0xC0)
            assert logic.compute(logic.breaks, [0, 0, first, second]) == wanted


def test_each_level_of_the_logic_fits_a_look_up_table() -> None:
    logic = PropertyLogic.of(TABLE_3_7, ALL)
    assert all(len(unit) <= 4 for unit in logic.units)
    assert all(len(product) <= 4 for product in logic.products)
    # Partial sums of four products, of which at most four form a flag.
    assert all(len(numbers) <= 16 for numbers in logic.sums.values())


# The circuits.

SHAPES: dict[str, dict[str, Any]] = {
    "serial-0": {"pipeline": 0},
    "serial-1": {"pipeline": 1},
    "serial-2": {"pipeline": 2},
    "parallel-1": {"architecture": "parallel"},
    "sparse-2": {"lanes": 2, "packed": False},
    "sparse-4": {"lanes": 4, "packed": False},
    "packed-4": {"lanes": 4},
    "sparse-4-registers": {"lanes": 4, "packed": False, "buffer": "registers"},
    "sparse-3-pipeline-0": {"lanes": 3, "packed": False, "pipeline": 0},
    "sparse-5-pipeline-3": {"lanes": 5, "packed": False, "pipeline": 3},
    "compact-3": {"lanes": 3, "compact_input": True},
    "refresh": {"refresh": 64},
    "no-replacement": {"lanes": 4, "packed": False, "replacement": False},
    "each-unit": {"practice": Practice.EACH_UNIT},
    "malformed-sequence": {"practice": Practice.MALFORMED_SEQUENCE},
    "first-error": {"practice": Practice.FIRST_ERROR, "pipeline": 1},
    "utf-16-1": {"table": UTF_16},
    "utf-16-4": {"table": UTF_16, "lanes": 4},
    "rfc-2279-2": {"table": RFC_2279, "lanes": 2},
    "generalised-4": {"table": GENERALISED_UTF_8, "lanes": 4},
    "sparse-8": {"lanes": 8, "packed": False},
    "packed-16": {"lanes": 16},
    "sparse-32": {"lanes": 32, "packed": False},
}
QUICK = ["sparse-4"]


@cache
def simulation_of(name: str) -> Simulation:
    return Simulation(DecoderParameters(**SHAPES[name], properties=ALL).observable().build(), engine=ENGINE)


@cache
def near_the_bounds(table: EncodingTable) -> list[tuple[int, ...]]:
    """The sequences of the code points next to each bound of each property."""
    bounds = {bound for each in ALL for points in code_points_of(each) for bound in (points.first, points.last)}
    points = {bound + n for bound in bounds for n in (-1, 0, 1)}
    rows = [row.code_points for row in table.rows]
    return [tuple(encode_units([point], table)) for point in sorted(points) if any(point in row for row in rows)]


def with_errors(name: str, rng: random.Random) -> list[int]:
    """Sequences near the bounds in random order, each after up to three units, some of them cut short."""
    table = parameters_of(simulation_of(name).core).input_table
    text: list[int] = []
    for sequence in rng.sample(near_the_bounds(table), len(near_the_bounds(table))):
        text += [rng.choice([0x41, 0x0A, *(table.rows[-1].units[-1].first, 0xED, 0xE2)])] * rng.randrange(4)
        text += sequence[: rng.choice([1, 2, 3, 4, 4, 4, 4])]
    if table is TABLE_3_7:
        for lead, second in ((0xED, 0x9F), (0xED, 0xA0), (0xED, 0xBF), (0xEC, 0xA0), (0xEE, 0xA0)):
            text += [lead, second, 0x80] + [0x41] * rng.randrange(4)
    return text


@pytest.mark.parametrize("name", tiered({each: each for each in SHAPES}, QUICK))
def test_flags_at_each_bound_in_any_lane(name: str) -> None:
    rng = random.Random(name)
    simulation = simulation_of(name)
    given = [with_errors(name, rng) for _ in range(4)]
    # A text that ends in the first unit of an encoded surrogate, and one that would continue it.
    given += [[0xED], [0xA0, 0x80], [0x41, 0xED], [0xBF], [], [0x41, 0x0A]]
    found = simulation.run(given, output_pauses=[False, True, False, False]).texts
    for text, symbols in zip(given, found, strict=True):
        assert list(symbols) == simulation.expected(text)
    assert {each for symbols in found for symbol in symbols for each in symbol.properties} >= {"control", "line-break"}


@pytest.mark.parametrize("name", tiered({each: each for each in ("serial-0", "serial-2", "sparse-4", "compact-3")}, 0))
@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=40)
def test_flags_of_any_text_with_any_pauses(name: str, data: st.DataObject, patterns: dict[str, list[bool]]) -> None:
    simulation = simulation_of(name)
    given = data.draw(texts(max_size=5))
    found = simulation.run(given, **patterns).texts
    assert [list(each) for each in found] == [simulation.expected(each) for each in given]


@requires_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["serial-0", "serial-1", "serial-2", "sparse-2", "sparse-4", "packed-4", "sparse-8"])
def test_flags_of_every_scalar_value(name: str) -> None:
    simulation = simulation_of(name)
    every = "".join(map(chr, chain(range(0xD800), range(0xE000, 0x110000)))).encode()
    for shift in range(parameters_of(simulation.core).lanes if "4" in name else 1):
        assert compare_bulk(simulation, [b"A" * shift + every]) is None


@pytest.mark.parametrize("wanted", CharacterProperty)
def test_one_property_alone(wanted: CharacterProperty) -> None:
    parameters = DecoderParameters(properties=wanted)
    assert parameters.properties == (wanted,)
    simulation = Simulation(parameters.build(), parameters)
    text = "A\n\x85\u2028 \ue000\ufdd0\U0001f600\U0010ffff\u3000".encode() + b"\xed\xa0\x80A"
    expected = [(item.code_point, item.error, item.properties) for item in simulation.expected(text)]
    assert [tuple(symbol) for symbol in simulation.run([text]).texts[0]] == expected
    assert any(properties for _, _, properties in expected)
    assert all(wanted == each for _, _, properties in expected for each in properties)


# Parameters and ports.


def test_flags_follow_the_other_fields_in_tuser() -> None:
    text = axi_verilog(DecoderParameters(properties="control,line-break", kind=True, length=True).build())
    assert ("output", "m_axis_tuser", 9) in declared_ports(text)
    wanted = "bit 7: control: 0000..001F 007F..009F bit 8: line-break: 000A..000D 001C..001E 0085 2028..2029"
    assert wanted in header_of(text)
    # The data of another version of CPython are the same; its version must not be in the file.
    assert unicode_version() not in text


def test_the_command_prints_the_properties_of_each_item(tmp_path: Path) -> None:
    done = utf8fpga("simulate", "--properties", "line-break,surrogate", "--hex", "41 0A ED A0", "--json")
    found = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [each["properties"] for each in found] == [[], ["line-break"], ["surrogate"], []]
    done = utf8fpga("simulate", "--properties", "all", "--hex", "41 0A")
    assert b"  1 control\n  1 whitespace\n  1 line-break\n" in done.stdout


def test_the_list_of_properties_has_the_version_of_the_data() -> None:
    lines = utf8fpga("table", "--properties").stdout.decode().splitlines()
    assert unicode_version() in lines[-1]
    assert [line.split()[0] for line in lines[1:-2]] == [each.value for each in ALL]
    assert lines[-3].split()[1:] == ["0A..0D", "1C..1E", "85", "2028..2029"]
