# SPDX-License-Identifier: BSD-2-Clause
"""Conversion between encoding forms (D93) and the encoding schemes, against CPython's codecs."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Mapping
from itertools import permutations, product

import pytest
from support.cases import cases
from support.oracle import refusal

from utf8fpga.model import TABLE_3_7, EncodingTable, ErrorKind, encode_units
from utf8fpga.model.conversion import (
    SCHEMES,
    UTF_16BE,
    UTF_16LE,
    UTF_32BE,
    UTF_32LE,
    ConversionError,
    EncodingScheme,
    convert,
)
from utf8fpga.model.forms import CATALOGUE, CESU_8_CODE_UNITS, COMPOSITIONS, GENERALISED_UTF_8, RFC_2279, UTF_16, UTF_32
from utf8fpga.model.table import Composition

FORM: Mapping[str, EncodingTable | Composition] = CATALOGUE | COMPOSITIONS
FORMS = {"UTF-8": TABLE_3_7, "UTF-16": UTF_16, "UTF-32": UTF_32}
BYTES = {"UTF-8": ("utf-8", 1), "UTF-16": ("utf-16-be", 2), "UTF-32": ("utf-32-be", 4)}
PAIRS = list(permutations(FORMS, 2))

SCALAR_VALUES = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
SAMPLE = sorted(
    {*SCALAR_VALUES[::61]}  # At least one of any 64 that differ only in the last byte, and every last byte.
    | {0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF}
    | {0x10000, 0x103FF, 0x10400, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF}
)


def units_of(text: str, form: str) -> tuple[int, ...]:
    codec, size = BYTES[form]
    data = text.encode(codec, "surrogatepass")
    return tuple(int.from_bytes(data[place : place + size], "big") for place in range(0, len(data), size))


def units_in(digits: str) -> tuple[int, ...]:
    return tuple(int(unit, 16) for unit in digits.split())


def replaced(units: list[int], form: str) -> str:
    """The text that CPython decodes, with U+FFFD for ill-formed subsequences."""
    codec, size = BYTES[form]
    return b"".join(unit.to_bytes(size, "big") for unit in units).decode(codec, "replace")


# Every scalar value, every pair of forms.


@pytest.mark.parametrize(
    "points", [pytest.param(SAMPLE, id="every_61st"), pytest.param(SCALAR_VALUES, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[" to ".join(pair) for pair in PAIRS])
def test_every_pair_of_forms(source: str, target: str, points: list[int]) -> None:
    text = "".join(map(chr, points))
    assert convert(units_of(text, source), FORMS[source], FORMS[target]) == units_of(text, target)


TABLE_3_4 = """
    U+004D     | 0000004D                            | 004D                     | 4D
    U+0430     | 00000430                            | 0430                     | D0 B0
    U+4E8C     | 00004E8C                            | 4E8C                     | E4 BA 8C
    U+10302    | 00010302                            | D800 DF02                | F0 90 8C 82
    D90_to_D92 | 0000004D 00000430 00004E8C 00010302 | 004D 0430 4E8C D800 DF02 | 4D D0 B0 E4 BA 8C F0 90 8C 82
"""


@pytest.mark.parametrize(("utf_32", "utf_16", "utf_8"), cases(TABLE_3_4))
def test_table_3_4(utf_32: str, utf_16: str, utf_8: str) -> None:
    sequences = {"UTF-32": units_in(utf_32), "UTF-16": units_in(utf_16), "UTF-8": units_in(utf_8)}
    for source, target in product(FORMS, FORMS):
        assert convert(sequences[source], FORMS[source], FORMS[target]) == sequences[target]
    for name, units in sequences.items():
        assert encode_units(sequences["UTF-32"], FORMS[name]) == units


VARIANTS = """
    CESU-8            | CESU-8            | 00 ED A0 80 ED BC 82
    Modified UTF-8    | Modified UTF-8    | C0 80 ED A0 80 ED BC 82
    RFC 2279          | UTF-8 of RFC 2279 | 00 F0 90 8C 82
    generalised UTF-8 | generalised UTF-8 | 00 F0 90 8C 82
"""


@pytest.mark.parametrize(("form", "written"), cases(VARIANTS))
@pytest.mark.parametrize("other", FORMS)
def test_conversion_between_variants_of_utf_8(form: str, written: str, other: str) -> None:
    text = units_of("\0\U00010302", other)
    assert convert(units_in(written), FORM[form], FORM[other]) == text
    assert convert(text, FORM[other], FORM[form]) == units_in(written)


def test_unpaired_surrogates_convert_to_forms_that_encode_them() -> None:
    units = bytes.fromhex("ED A0 80 41 ED B0 80")
    assert bytes(convert(units, GENERALISED_UTF_8, CESU_8_CODE_UNITS)) == units
    assert bytes(convert(units, CESU_8_CODE_UNITS, RFC_2279)) == units


# Errors.


ERRORS = """
    truncated          | UTF-8 | UTF-16 | 41 C2 41       | <C2> at offset 1 is ill-formed in UTF-8: TRUNCATED
    incomplete         | UTF-8 | UTF-32 | 41 F0 90 8C    | <F0 90 8C> at offset 1 is ill-formed in UTF-8: INCOMPLETE
    surrogate          | UTF-8 | UTF-16 | ED A0 80       | <ED> at offset 0 is ill-formed in UTF-8: SURROGATE
    high surrogate     | UTF-16 | UTF-8 | 4D D800 4D     | <D800> at offset 1 is ill-formed in UTF-16: TRUNCATED
    same form          | UTF-16 | UTF-16 | D800 DF02 DF02 \
| <DF02> at offset 2 is ill-formed in UTF-16: UNEXPECTED_CONTINUATION
    UTF-32 surrogate   | UTF-32 | UTF-8 | 41 DFFF        | <0000DFFF> at offset 1 is ill-formed in UTF-32: SURROGATE
    UTF-32 above       | UTF-32 | UTF-16 | 110000        | <00110000> at offset 0 is ill-formed in UTF-32: OUT_OF_RANGE
    without sequence   | generalised UTF-8 | UTF-16 | 41 ED B0 80 \
| <ED B0 80> at offset 1 is U+DC00, which has no sequence in UTF-16: SURROGATE
    beyond             | UTF-8 of RFC 2279 | UTF-8 | 41 F8 88 80 80 80 \
| <F8 88 80 80 80> at offset 1 is U+200000, which has no sequence in UTF-8: OUT_OF_RANGE
    beyond composition | UTF-8 of RFC 2279 | CESU-8 | F4 90 80 80 \
| <F4 90 80 80> at offset 0 is U+110000, which has no sequence in CESU-8: OUT_OF_RANGE
    CESU-8             | CESU-8 | UTF-16 | 41 ED A0 80 41 | <ED A0 80> at offset 1 is ill-formed in CESU-8: TRUNCATED
"""


@pytest.mark.parametrize(("source", "target", "text", "message"), cases(ERRORS))
def test_error_condition_is_reported(source: str, target: str, text: str, message: str) -> None:
    quoted, offset, kind = re.match(r"<(.*)> at offset (\d+) .*: (.*)", message).groups()
    units = units_in(text)
    for each in (list(units), iter(units), units):
        with pytest.raises(ConversionError) as caught:
            convert(each, FORM[source], FORM[target])
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert str(error) == message
            assert (error.offset, error.length, error.kind.name) == (int(offset), len(quoted.split()), kind)


@pytest.mark.parametrize(
    ("source", "units"),
    [(GENERALISED_UTF_8, "41 ED A0 80 ED B0 80 42"), (RFC_2279, "41 F4 90 80 80 FD BF BF BF BF BF 42")],
    ids=["surrogates", "beyond"],
)
def test_each_code_point_without_a_target_sequence_is_replaced(source: EncodingTable, units: str) -> None:
    assert convert(units_in(units), source, UTF_16, errors="replace") == (0x41, 0xFFFD, 0xFFFD, 0x42)


EDGES = {
    "UTF-8": list(bytes.fromhex("41 80 90 A0 C0 C2 E0 E1 ED F0 F1 F4")),
    "UTF-16": [0x41, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF],
    "UTF-32": [0x41, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0x10FFFF, 0x110000, 0xFFFFFFFF],
}


@pytest.mark.smoke
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[" to ".join(pair) for pair in PAIRS])
def test_replacement_matches_cpython(source: str, target: str) -> None:
    """Every text of up to three units at the bounds; CPython replaces in UTF-16 and UTF-32 as in UTF-8.

    Without a replacement, the first error is where CPython reports it.
    """
    for length in range(4):
        for units in product(EDGES[source], repeat=length):
            text = replaced(list(units), source)
            assert convert(units, FORMS[source], FORMS[target], errors="replace") == units_of(text, target), units
            if (place := _first_error(list(units), source)) is None:
                assert convert(units, FORMS[source], FORMS[target]) == units_of(text, target), units
            else:
                assert _refused(units, source, target).offset == place, units


def _refused(units: Iterable[int], source: str, target: str) -> ConversionError:
    with pytest.raises(ConversionError) as caught:
        convert(units, FORMS[source], FORMS[target])
    return caught.value


def _first_error(units: list[int], form: str) -> int | None:
    """The offset of the first error that CPython reports."""
    codec, size = BYTES[form]
    try:
        b"".join(unit.to_bytes(size, "big") for unit in units).decode(codec)
    except UnicodeDecodeError as error:
        return error.start // size
    return None


def test_invalid_errors_argument_is_rejected() -> None:
    message = refusal(ValueError, convert, b"", TABLE_3_7, UTF_16, errors="ignore")
    assert message == "errors is 'ignore': it must be 'strict' or 'replace'"


def test_target_without_u_fffd_is_rejected() -> None:
    ascii_ = EncodingTable.parse("ASCII", "0000..007F  00..7F", source="X3.4")
    assert convert(b"A", TABLE_3_7, ascii_) == (0x41,)
    message = "U+FFFD has no sequence in ASCII: its code points are U+0000..U+007F"
    assert refusal(ValueError, convert, b"A", TABLE_3_7, ascii_, errors="replace") == message
    message = "<C3 A9> at offset 0 is U+00E9, which has no sequence in ASCII: OUT_OF_RANGE"
    assert refusal(ConversionError, convert, "\xe9".encode(), TABLE_3_7, ascii_) == message


# Schemes.

TEXTS = ("\ufeffM\u0430\u4e8c\U00010302\U0010ffff\0", "A\ud800B\udc00", "")


@pytest.mark.smoke
@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_match_cpython(name: str) -> None:
    """U+FEFF at the start is an ordinary character, since the byte order is fixed; ill-formed units remain."""
    scheme, form = SCHEMES[name], name[: len("UTF-16")]
    for text in TEXTS:
        data = text.encode(name, "surrogatepass")
        for content in (data, bytearray(data), memoryview(data)):
            assert scheme.to_units(content) == units_of(text, form)
        assert scheme.to_bytes(units_of(text, form)) == data
        assert scheme.to_bytes(iter(units_of(text, form))) == data
    assert scheme.form is FORMS[form]


CUT_OFF = """
    UTF-16BE | UTF-16BE | 004D D8         | <D8> at byte offset 2 is 1 of the 2
    UTF-16LE | UTF-16LE | 4D              | <4D> at byte offset 0 is 1 of the 2
    UTF-32BE | UTF-32BE | 0000004D 000103 | <00 01 03> at byte offset 4 is 3 of the 4
    UTF-32LE | UTF-32LE | 4D00            | <4D 00> at byte offset 0 is 2 of the 4
"""


@pytest.mark.parametrize(("name", "data", "message"), cases(CUT_OFF))
def test_truncated_unit_is_reported(name: str, data: str, message: str) -> None:
    scheme, content = SCHEMES[name], bytes.fromhex(data)
    with pytest.raises(ConversionError) as caught:
        scheme.to_units(content)
    error = caught.value
    assert str(error) == f"{message} bytes of a code unit of {name}: INCOMPLETE"
    offset, length = map(int, re.findall(r"offset (\d+) is (\d+)", message)[0])
    assert (error.offset, error.length, error.kind) == (offset, length, ErrorKind.INCOMPLETE)
    assert len(scheme.to_units(content[:offset])) == offset // scheme.unit_bytes


@pytest.mark.parametrize(
    ("scheme", "unit", "quoted"),
    [
        (UTF_16BE, 0x10000, "0x10000"),
        (UTF_16LE, -1, "-0x1"),
        (UTF_32BE, 1 << 32, "0x100000000"),
        (UTF_32LE, "A", "'A'"),
    ],
    ids=SCHEMES,
)
def test_to_bytes_rejects_invalid_units(scheme: EncodingScheme, unit: object, quoted: str) -> None:
    top = "0xffff" if "16" in scheme.name else "0xffffffff"
    message = f"code unit {quoted} at offset 1 is not an integer in 0..{top}"
    assert refusal(ValueError, scheme.to_bytes, [0x41, unit]) == message


@pytest.mark.parametrize("data", ["text", [0x41], 2, None], ids=["str", "list", "int", "none"])
def test_to_units_requires_bytes_like_objects(data: object) -> None:
    kind = type(data).__name__
    assert refusal(TypeError, UTF_16BE.to_units, data) == (f"memoryview: a bytes-like object is required, not '{kind}'")


def test_names_and_order_of_the_schemes() -> None:
    assert [(name, scheme.form.name, scheme.byte_order, scheme.unit_bytes) for name, scheme in SCHEMES.items()] == [
        ("UTF-16BE", "UTF-16", "big", 2),
        ("UTF-16LE", "UTF-16", "little", 2),
        ("UTF-32BE", "UTF-32", "big", 4),
        ("UTF-32LE", "UTF-32", "little", 4),
    ]
    assert all(scheme.source.startswith("The Unicode Standard, section 3.10, D") for scheme in SCHEMES.values())
    with pytest.raises(TypeError, match="does not support item assignment"):
        SCHEMES["UTF-16"] = UTF_16BE
