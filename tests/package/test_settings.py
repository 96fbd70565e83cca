# SPDX-License-Identifier: BSD-2-Clause
"""The configuration of the tests, which must hold on every machine."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=1)
@given(st.none())
def test_examples_have_no_deadline(nothing: None) -> None:
    assert nothing is None
    time.sleep(0.3)  # Longer than Hypothesis's default deadline.


def test_failing_examples_are_reproducible() -> None:
    assert (settings.default.print_blob, settings.default.derandomize) == (True, False)
