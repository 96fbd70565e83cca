# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of cores: checked when they are made, and complete in names, dictionaries and command lines."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError
from functools import cache
from typing import Any

import pytest
from amaranth.back import rtlil
from support.oracle import refusal
from support.variants import variants

from utf8fpga import hdl, model
from utf8fpga.cli.core_command import core_command
from utf8fpga.hdl import (
    DecoderParameters,
    TranscoderParameters,
    build,
    core,
)
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.parameters import GATE_ENCODINGS
from utf8fpga.model import CATALOGUE, InvalidArgumentError, TableError

PARSER = core_command()(lambda parameters: parameters)


def parsed(words: list[str], kind: type[core.CoreParameters] = DecoderParameters) -> core.CoreParameters:
    with PARSER.make_context("", [kind.core, *words]) as context:
        return context.command.invoke(context)


@pytest.mark.smoke
@pytest.mark.parametrize("kind", CORES.values(), ids=CORES)
def test_names_arguments_and_expressions_are_those_of_one_core_only(kind: type[core.CoreParameters]) -> None:
    found = list(dict.fromkeys(variants(kind)))
    assert len({each.name for each in found}) == len(found) > 1
    assert kind().arguments() == []
    assert build(found[-1]).parameters is found[-1]
    for each in found:
        assert re.fullmatch(rf"{kind.core}(-[a-z0-9]+)*", each.name)
        assert parsed(each.arguments(), kind) == each
        assert eval(each.expression(), vars(hdl) | vars(model)) == each


def test_names() -> None:
    assert DecoderParameters(lanes=16).name == "decoder-16"
    assert DecoderParameters(lanes=16, packed=False).name == "decoder-16-sparse"
    assert TranscoderParameters(from_="utf-16-be").name == "transcoder-from-utf-16-be"


def test_arguments_that_follow_from_others_are_omitted() -> None:
    assert DecoderParameters().arguments() == []
    assert DecoderParameters(lanes=4, optimize="speed").arguments() == ["--lanes", "4"]
    assert DecoderParameters(optimize="area").arguments() == ["--optimize", "area"]


def test_equal_cores_have_equal_parameters() -> None:
    assert DecoderParameters(lanes=1, packed=True) == DecoderParameters()
    assert DecoderParameters(lanes=8) == DecoderParameters(lanes=8, optimize="speed", packed=True)
    assert DecoderParameters(lanes=8) != DecoderParameters(lanes=8, packed=False)


def test_the_dictionary_is_json() -> None:
    assert json.loads(json.dumps(DecoderParameters(lanes=4).as_dict())) == {
        "table": "UTF-8",
        "lanes": 4,
        "optimize": "speed",
        "packed": True,
        "kind": False,
    }


def test_parameters_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        DecoderParameters().lanes = 2


REJECTED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "decoder": [
        ({"lanes": 0}, "lanes 0 is not in 1..256"),
        ({"optimize": "x"}, "optimize 'x' is not one of area, speed"),
        ({"lanes": 257}, "lanes 257 is not in 1..256"),
    ],
    "encoder": [
        ({"lanes": 0}, "lanes 0 is not in 1..64"),
        ({"lanes": 65}, "lanes 65 is not in 1..64"),
        ({"to": "latin-1"}, f"to 'latin-1' is not one of {', '.join(GATE_ENCODINGS)}"),
    ],
    "transcoder": [
        ({"lanes": 257}, "lanes 257 is not in 1..256"),
        (
            {"from_": "utf-7"},
            "from_ 'utf-7' is not one of utf-8, utf-16-le, utf-16-be",
        ),
    ],
    "validator": [
        ({"lanes": 0}, "lanes 0 is not in 1..256"),
        ({"lanes": 257}, "lanes 257 is not in 1..256"),
    ],
    "remover": [
        ({"lanes": 0}, "lanes 0 is not in 2..64"),
        ({"lanes": 65}, "lanes 65 is not in 2..64"),
        ({"width": 0}, "width 0 is not in 1..64"),
        ({"width": 65}, "width 65 is not in 1..64"),
        ({"user": -1}, "user -1 is not in 0..64"),
        ({"user": 65}, "user 65 is not in 0..64"),
    ],
}


@pytest.mark.smoke
@pytest.mark.parametrize("kind", REJECTED)
def test_invalid_parameters_are_rejected(kind: str) -> None:
    for given, message in REJECTED[kind]:
        assert refusal(InvalidArgumentError, lambda given=given: CORES[kind](**given)) == message


def candidates(how: core.Option) -> list[Any]:
    """Values for a field with an option."""
    if how.flags:
        return [True, False]
    lowest, highest = how.range or (1, None)
    return [*how.choices, lowest, lowest + 1, lowest + 7, highest]


BASES: dict[str, list[dict[str, Any]]] = {
    "decoder": [{}, {"lanes": 4}],
}
"""By kind of core other fields, with one of which each field has an effect; default: the defaults, and two lanes."""


@pytest.mark.parametrize("kind", CORES)
def test_each_option_changes_the_circuit(kind: str) -> None:
    """So no option is accepted, and stated in the header, that no circuit reads."""
    assert [name for name in CORES[kind].options() if not has_effect(kind, name)] == []


def has_effect(kind: str, name: str) -> bool:
    for base in BASES.get(kind, [{}, {"lanes": 2}]):
        plain = CORES[kind](**base)
        for value in candidates(plain.options()[name]):
            try:
                changed = CORES[kind](**{**base, name: CATALOGUE.get(value, value)})
                if changed != plain and rtlil_of(changed) != rtlil_of(plain):
                    return True
            except (InvalidArgumentError, TableError, TypeError):
                continue
    return False


@cache
def rtlil_of(parameters: core.CoreParameters) -> str:
    return str(rtlil.convert(build(parameters), name="core", emit_src=False))
