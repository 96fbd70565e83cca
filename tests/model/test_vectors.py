# SPDX-License-Identifier: BSD-2-Clause
"""The test vectors: equal to CPython's results, complete by cause, and usable in a Verilog test bench."""

from __future__ import annotations

import json
import re
from itertools import takewhile

import pytest

from utf8fpga.model import ErrorKind, Practice, decode
from utf8fpga.model.vectors import render_vectors, vectors

NAMED = {
    "overlong_2_lowest": "C0 80",
    "overlong_2_highest": "C1 BF",
    "overlong_3_lowest": "E0 80 80",
    "overlong_3_highest": "E0 9F BF",
    "overlong_4_lowest": "F0 80 80 80",
    "overlong_4_highest": "F0 8F BF BF",
    "surrogate_first": "ED A0 80",
    "surrogate_high_last": "ED AF BF",
    "surrogate_low_first": "ED B0 80",
    "surrogate_last": "ED BF BF",
    "out_of_range_lowest": "F4 90 80 80",
    "out_of_range_highest": "F7 BF BF BF",
    "unexpected_continuation_unit_first": "80",
    "unexpected_continuation_unit_last": "BF",
    "invalid_byte_unit_first": "F8",
    "invalid_byte_unit_last": "FF",
    "row_5_last": "ED 9F BF",
    "row_9_last": "F4 8F BF BF",
    "cut_row_9_last_after_3": "F4 8F BF",
    "table_3_11": "E1 80 E2 F0 91 92 F1 BF 41",
}
"""Derived by hand from the bounds of Table 3-7 and the causes."""

FOUND = {vector.name: vector.units for vector in vectors()}


def test_names_are_unique_identifiers() -> None:
    assert len(FOUND) == len(vectors()) > 100
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in FOUND)


@pytest.mark.smoke
@pytest.mark.parametrize("name", NAMED)
def test_vectors_have_the_items_that_their_names_describe(name: str) -> None:
    assert FOUND[name].hex(" ").upper() == NAMED[name]
    if not name.startswith(("row", "table")):
        assert FOUND[f"{name}_z"] == FOUND[name] + b"Z"


FOLLOWING = [b"", *(bytes([unit]) + b"\x80" * more for unit in range(256) for more in range(3))]
"""What may follow a part of a text, so that each open sequence is completed, broken and at the end."""


def determined(part: bytes) -> str:
    """What CPython decodes from a part of a text, whatever follows it."""
    decoded = [(part + following).decode("utf-8", "replace") for following in FOLLOWING]
    # What the first and the last in the order of strings have in common, all have.
    pairs = zip(min(decoded), max(decoded), strict=False)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.smoke
def test_json_has_the_items_of_cpython_and_the_bytes_that_determine_them() -> None:
    suite = json.loads(render_vectors("json"))
    assert {entry["name"]: bytes.fromhex(entry["bytes"]) for entry in suite["vectors"]} == FOUND
    causes = set()
    for entry in suite["vectors"]:
        assert list(entry["expected"]) == [practice.value for practice in Practice]
        units, items = bytes.fromhex(entry["bytes"]), entry["expected"]["maximal-subparts"]
        text = units.decode("utf-8", "replace")
        assert "".join(chr(item["code_point"]) for item in items) == text
        causes |= {item["error"] for item in items}
        assert entry["marks"]["maximal-subparts"] == text.count("\ufffd")
        for number in range(1, len(units) + 1):
            done = [item for item in items if item["determined_after"] and item["determined_after"] <= number]
            assert len(done) == len(determined(units[:number])), entry["name"]
            assert entry["open_bytes"][number - 1] == number - sum(item["length"] for item in done)
    assert causes == {None, *(kind.name for kind in ErrorKind)}
    schema = json.loads(render_vectors("schema"))
    jsonschema = pytest.importorskip("jsonschema", reason="requires the extra 'dev'")
    jsonschema.Draft202012Validator(schema).validate(suite)
    assert render_vectors("json") == render_vectors("json")


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^'each' is not one of maximal-subparts, start-of-a-sequence, each-unit, "):
        render_vectors("json", "each")
    with pytest.raises(ValueError, match=r"^format 'csv' is not one of json, readmemh, schema$"):
        render_vectors("csv")


@pytest.mark.parametrize("practice", Practice)
def test_readmemh_has_the_items_of_the_practice(practice: Practice) -> None:
    blocks = re.split(r"^// (?=[a-z_0-9]+$)", render_vectors("readmemh", practice), flags=re.MULTILINE)[1:]
    assert [block.splitlines()[0] for block in blocks] == list(FOUND)
    for block, units in zip(blocks, FOUND.values(), strict=True):
        words = [line for line in block.splitlines()[1:] if line[0] in "89AB"]
        items = list(decode(units, practice=practice))
        assert [int(word[1:], 16) for word in words] == [item.code_point for item in items]
        assert [word[0] in "AB" for word in words] == [item.error is not None for item in items]
        assert [word[0] in "9B" for word in words] == [False] * (len(items) - 1) + [True] * bool(items)
        assert bytes(int(line[1:], 16) for line in block.splitlines()[1:] if line[0] in "13") == units
