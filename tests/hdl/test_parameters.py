# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of cores: checked when they are made, and complete in names, dictionaries and command lines."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError, replace
from functools import cache
from typing import Any

import pytest
from amaranth.back import rtlil
from support.oracle import refusal
from support.variants import variants

from utf8fpga import hdl, model
from utf8fpga.cli.core_command import core_command
from utf8fpga.hdl import DecoderParameters, build, core
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.parameters import GATE_ENCODINGS
from utf8fpga.model import InvalidArgumentError

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


REJECTED: list[tuple[str, dict[str, Any], str]] = [
    *((kind, {"lanes": 0}, "lanes 0 is not in 1..256") for kind in ("decoder", "transcoder", "sanitizer", "validator")),
    ("decoder", {"lanes": 257}, "lanes 257 is not in 1..256"),
    ("decoder", {"optimize": "x"}, "optimize 'x' is not one of area, speed"),
    ("encoder", {"lanes": 65}, "lanes 65 is not in 1..64"),
    ("encoder", {"to": "latin-1"}, f"to 'latin-1' is not one of {', '.join(GATE_ENCODINGS)}"),
    ("transcoder", {"from_": "utf-7"}, "from_ 'utf-7' is not one of utf-8, utf-16-le, utf-16-be"),
    ("sanitizer", {"replace_with": "U+FFFD"}, "replace_with 'U+FFFD' is not one of question-mark, none"),
    ("remover", {"lanes": 1}, "lanes 1 is not in 2..64"),
    ("remover", {"width": 65}, "width 65 is not in 1..64"),
    ("remover", {"user": -1}, "user -1 is not in 0..64"),
]


@pytest.mark.smoke
def test_invalid_parameters_are_rejected() -> None:
    for kind, given, message in REJECTED:
        assert refusal(InvalidArgumentError, CORES[kind], **given) == message


@pytest.mark.parametrize("kind", CORES.values(), ids=CORES)
def test_each_option_changes_the_circuit(kind: type[core.CoreParameters]) -> None:
    """So no option is accepted, and stated in the header, that no circuit reads."""
    found = list(variants(kind))
    for name, default in vars(kind()).items():
        changed = (each for each in found if getattr(each, name) != default)
        assert any(rtlil_of(each) != rtlil_of(replace(each, **{name: default})) for each in changed), name


@cache
def rtlil_of(parameters: core.CoreParameters) -> str:
    return str(rtlil.convert(build(parameters), name="core", emit_src=False))
