# SPDX-License-Identifier: BSD-2-Clause
"""The test vectors: equal to CPython's results, and complete by cause."""

from __future__ import annotations

import json
import re

import pytest

from utf8fpga.model import ErrorKind, Practice
from utf8fpga.model.vectors import vectors, vectors_json

NAMED = {
    "overlong_3_lowest": "E0 80 80",
    "overlong_3_highest": "E0 9F BF",
    "overlong_4_highest": "F0 8F BF BF",
    "surrogate_first": "ED A0 80",
    "surrogate_last": "ED BF BF",
    "out_of_range_lowest": "F4 90 80 80",
    "out_of_range_highest": "F7 BF BF BF",
    "unexpected_continuation_unit_last": "BF",
    "invalid_byte_unit_first": "F8",
    "row_9_last": "F4 8F BF BF",
    "row_9_last_cut_at_3": "F4 8F BF",
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
    if f"{name}_z" in FOUND:
        assert FOUND[f"{name}_z"] == FOUND[name] + b"Z"


@pytest.mark.smoke
def test_json_has_the_items_of_cpython_and_those_of_every_practice() -> None:
    suite = json.loads(vectors_json())
    assert {entry["name"]: bytes.fromhex(entry["bytes"]) for entry in suite["vectors"]} == FOUND
    causes = set()
    for entry in suite["vectors"]:
        assert list(entry["expected"]) == [practice.value for practice in Practice]
        units, items = bytes.fromhex(entry["bytes"]), entry["expected"]["maximal-subparts"]
        assert "".join(chr(item["code_point"]) for item in items) == units.decode("utf-8", "replace")
        assert sum(item["length"] for item in items) == len(units)
        causes |= {item["error"] for item in items}
        each = entry["expected"]["each-unit"]
        assert [item["length"] for item in each if item["error"]] == [1] * sum(
            item["error"] is not None for item in each
        )
    assert causes == {None, *(kind.name for kind in ErrorKind)}
