# SPDX-License-Identifier: BSD-2-Clause
"""The encodings of text as bytes, by the names that programs use: an encoding form and a byte order.

They are the encoding schemes (D94) without a byte order mark, and the other forms of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from utf8fpga.model.composition import Composition
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import CATALOGUE, COMPOSITIONS, UTF_16, UTF_32
from utf8fpga.model.named import checked_table, encoding_word
from utf8fpga.model.table import EncodingTable


@dataclass(frozen=True)
class Encoding:
    """An encoding form with a byte order.

    Attributes:
        name: its name, such as ``utf-16-le``.
        byte_order: ``little``, the least significant byte of a code unit first, or ``big``.
    """

    name: str
    form: EncodingTable | Composition
    byte_order: Literal["little", "big"] = "little"

    @property
    def table(self) -> EncodingTable:
        """The form, which must be one table: circuits are made from tables."""
        return checked_table(self.form)

    @property
    def unit_bytes(self) -> int:
        """The bytes of a code unit."""
        return self.form.unit_width // 8

    @property
    def is_swapped(self) -> bool:
        """Whether the most significant byte of a code unit, if it has several, is the first one."""
        return self.byte_order == "big" and self.unit_bytes > 1

    def swapped(self, unit: int) -> int:
        """A code unit from a number whose first byte is the least significant one, or the other way round.

        >>> hex(ENCODINGS["utf-16-be"].swapped(0x3DD8))
        '0xd83d'
        """
        return int.from_bytes(unit.to_bytes(self.unit_bytes, "little"), self.byte_order)

    def to_bytes(self, units: Iterable[int]) -> bytes:
        """The bytes of code units.

        >>> ENCODINGS["utf-16-be"].to_bytes([0xD83D, 0xDE00]).hex()
        'd83dde00'
        """
        return b"".join(unit.to_bytes(self.unit_bytes, self.byte_order) for unit in units)


def _all() -> dict[str, Encoding]:
    found: list[Encoding] = []
    parts = [form.unit_table for form in COMPOSITIONS.values()]
    forms: list[EncodingTable | Composition] = [table for table in CATALOGUE.values() if table not in parts]
    for form in [*forms, *COMPOSITIONS.values()]:
        name = encoding_word(form.name)
        has_orders = form in (UTF_16, UTF_32)
        both = [Encoding(f"{name}-le", form), Encoding(f"{name}-be", form, "big")]
        found += both if has_orders else [Encoding(name, form)]
    return {each.name: each for each in found}


ENCODINGS: Mapping[str, Encoding] = MappingProxyType(_all())
"""Every encoding by its name."""


def encoding_named(name: str) -> Encoding:
    """The encoding of a name.

    Raises:
        InvalidArgumentError: there is none.
    """
    if name not in ENCODINGS:
        raise InvalidArgumentError(f"encoding {name!r} is not one of {', '.join(ENCODINGS)}")
    return ENCODINGS[name]
