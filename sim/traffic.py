# SPDX-License-Identifier: BSD-2-Clause
"""Input for long simulations: patterns of pauses."""

from __future__ import annotations

import random

from utf8fpga.model import InvalidArgumentError

__all__ = ["random_pauses"]


def random_pauses(seed: int, share: float = 0.5, length: int = 65_521) -> list[bool]:
    """A pattern of pauses for any engine that is the same for the same arguments.

    With different prime lengths for input and output (65521 and 65519 are prime) the pair repeats after more than
    4 · 10⁹ cycles.

    Args:
        seed: any integer.
        share: the probability of a pause in a cycle, 0 to 1 without 1.
        length: cycles until the pattern repeats, at least 1.

    Raises:
        InvalidArgumentError: `share` or `length` is out of its range.
    """
    if not 0 <= share < 1:
        raise InvalidArgumentError(f"share {share!r} is not in 0..1 without 1")
    if length < 1:
        raise InvalidArgumentError(f"length {length!r} is less than 1")
    draw = random.Random(seed)
    return [False, *(draw.random() < share for _ in range(length - 1))]
