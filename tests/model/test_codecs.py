# SPDX-License-Identifier: BSD-2-Clause
"""The codecs for Python, against CPython's own ones."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.codecs_oracle import encoded_by_cpython
from support.oracle import BOUNDARY, PIECES, REPRESENTATIVES

from utf8fpga.model import CATALOGUE, COMPOSITIONS, Practice, register_codecs
from utf8fpga.model.codecs import python_codecs

PRACTICES = [f"utf-8-{practice}" for practice in Practice if practice is not Practice.FIRST_ERROR]
OTHERS = ["generalised-utf-8", "cesu-8", "modified-utf-8"]

texts = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    register_codecs()
    register_codecs()


def result(data: bytes, name: str, errors: str) -> tuple[object, ...]:
    try:
        return (data.decode(name, errors),)
    except UnicodeDecodeError as error:
        return error.start, error.end, error.object, error.encoding


@pytest.mark.smoke
def test_maximal_subparts_are_those_of_cpython() -> None:
    handlers = ("strict", "replace", "ignore", "backslashreplace", "surrogateescape")
    for data in (bytes(units) for length in range(4) for units in product(REPRESENTATIVES, repeat=length)):
        for errors in handlers:
            expected = result(data, "utf-8", errors)
            if len(expected) > 1:
                expected = (*expected[:-1], "utf-8-maximal-subparts")
            assert result(data, "utf-8-maximal-subparts", errors) == expected


EXAMPLES = {
    # Kuhn's stress test, 3.3 and 4.1: F0 80 80 AF is an overlong sequence of four bytes, E0 80 one that is cut off.
    "f08080af41": [4, 4, 4, 1, 1],
    "e08041": [2, 2, 2, 1, 1],
    "f09f9841": [1, 1, 3, 1, 1],
    "80ff": [2, 2, 2, 1, 2],
}
"""For each text the number of U+FFFD by each of `PRACTICES`, from the documents that they are named after."""


@pytest.mark.parametrize("text", EXAMPLES)
def test_practices_differ_in_the_number_of_marks(text: str) -> None:
    marks = [bytes.fromhex(text).decode(name, "replace").count("\ufffd") for name in PRACTICES]
    assert marks == EXAMPLES[text]


@given(texts)
def test_each_unit_is_cpythons_with_the_error_handler(data: bytes) -> None:
    assert data.decode("utf-8-each-unit", "replace") == data.decode("utf-8", "utf8fpga.each-unit")
    # surrogateescape has one surrogate for each byte of an error.
    escaped = data.decode("utf-8", "surrogateescape")
    expected = "".join("\ufffd" if "\udc80" <= character <= "\udcff" else character for character in escaped)
    assert data.decode("utf-8", "utf8fpga.each-unit") == expected


def test_the_error_handler_is_for_decoding() -> None:
    with pytest.raises(UnicodeEncodeError):
        "\ud800".encode("utf-8", "utf8fpga.each-unit")


def test_generalised_utf_8_is_that_of_surrogatepass() -> None:
    for data in (bytes(units) for length in range(4) for units in product(BOUNDARY, repeat=length)):
        try:
            expected = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                data.decode("generalised-utf-8")
        else:
            assert data.decode("generalised-utf-8") == expected
            assert expected.encode("generalised-utf-8") == data


@pytest.mark.parametrize("name", ["cesu-8", "modified-utf-8"])
@given(text=st.text(max_size=8))
def test_compositions(name: str, text: str) -> None:
    data = encoded_by_cpython(text, name)
    assert text.encode(name) == data
    assert data.decode(name) == text


def test_characters_without_a_sequence() -> None:
    with pytest.raises(UnicodeEncodeError, match=r"^'cesu-8' codec can't encode character '\\ud800' in position 1: "):
        "A\ud800B".encode("cesu-8")
    for errors in ("replace", "ignore", "backslashreplace", "xmlcharrefreplace"):
        assert "A\ud800B".encode("cesu-8", errors) == "A\ud800B".encode("utf-8", errors)
        assert codecs.getincrementalencoder("cesu-8")(errors).encode("\ud800") == "\ud800".encode("utf-8", errors)
    assert "A\udc80".encode("utf-8-each-unit", "surrogateescape") == b"A\x80"


def test_the_error_names_the_span_and_the_cause() -> None:
    message = r"^'utf-8-malformed-sequence' codec can't decode bytes in position 1-4: overlong$"
    with pytest.raises(UnicodeDecodeError, match=message):
        b"A\xf0\x80\x80\xaf".decode("utf-8-malformed-sequence")


@pytest.mark.parametrize("name", [*PRACTICES, *OTHERS])
@given(data=texts, cuts=st.lists(st.integers(0, 30), max_size=4))
def test_chunks_give_the_same_text(name: str, data: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(bounds)]
    decoder = codecs.getincrementaldecoder(name)("replace")
    got = []
    for chunk in chunks:
        got.append(decoder.decode(chunk))
        decoder.setstate(decoder.getstate())
    assert "".join([*got, decoder.decode(b"", True)]) == data.decode(name, "replace")


def written_characters(number: int) -> Iterator[str]:
    return (chr(0x20 + at * 0x101 % 0xD000) for at in range(number))


@pytest.mark.parametrize("name", [*PRACTICES, *OTHERS])
def test_files(name: str, tmp_path: Path) -> None:
    path, text = tmp_path / "text", "\n".join(written_characters(6000))  # Several chunks of a file.
    with open(path, "w", encoding=name, newline="") as file:
        file.write(text)
    assert path.read_bytes() == encoded_by_cpython(text, name if name in OTHERS[1:] else "utf-8")
    with open(path, encoding=name, newline="") as file:
        assert file.readline() + file.read() == text
    reader = codecs.getreader(name)(io.BytesIO("é€😀".encode(name)))
    assert "".join(reader.read(2) for _ in range(12)) == "é€😀"
    stream = io.BytesIO()
    codecs.getwriter(name)(stream).write(text)
    assert stream.getvalue() == path.read_bytes()


def test_error_handlers_may_continue_elsewhere() -> None:
    def skip_two(error: UnicodeError) -> tuple[str, int]:
        return "?", error.start + 2

    codecs.register_error("test.skip-two", skip_two)
    codecs.register_error("test.last", lambda _: ("!", -1))
    codecs.register_error("test.outside", lambda _: ("!", 99))
    for data in (b"\xff\xffA\xe1\x80B", b"A\xff\x80\x80Z"):
        for errors in ("test.skip-two", "test.last"):
            assert data.decode("utf-8-maximal-subparts", errors) == data.decode("utf-8", errors)
    for name in ("utf-8", "utf-8-maximal-subparts"):
        with pytest.raises(IndexError, match="position 99 from error handler out of bounds"):
            b"\xff".decode(name, "test.outside")
        with pytest.raises(IndexError, match="position 99 from error handler out of bounds"):
            "\ud800".encode(name, "test.outside")
    assert "\ud800AZ".encode("utf-8-maximal-subparts", "test.last") == "\ud800AZ".encode("utf-8", "test.last")


def test_the_page_lists_the_codecs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
    section = page.partition("\n## Streams and files\n")[2].partition("\n## ")[0]
    listed = [line for line in re.split(r"\n(?=- )|\n\n", section) if line.startswith("- ")]
    assert re.findall(r"`([a-z]\w*-[\w-]+)`", " ".join(listed)) == [*PRACTICES, *OTHERS]


def test_names_are_those_of_the_practices_and_the_catalogue() -> None:
    assert [*python_codecs()] == [*PRACTICES, *OTHERS]
    names = {name.lower().replace(" ", "-") for name in (*CATALOGUE, *COMPOSITIONS)}
    assert set(OTHERS) <= names
    assert codecs.lookup("UTF-8 each unit").name == codecs.lookup("utf_8_each_unit").name == "utf-8-each-unit"
    # The spelling of the specification of WTF-8.
    assert codecs.lookup("Generalized UTF-8").name == "generalised-utf-8"
    for name in ("utf-8-first-error", "utf-8-of-rfc-2279", "utf8fpga"):
        with pytest.raises(LookupError):
            codecs.lookup(name)
    assert codecs.lookup("utf-8").name == "utf-8"
