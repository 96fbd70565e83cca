# SPDX-License-Identifier: BSD-2-Clause
"""Records the cases of a public suite as facts: ``python tests/model/suites/record.py SUITE FILE ...``.

The files are those of `SUITES`, in that order, from a checkout of the suite; their digests are checked. The result is
``SUITE.tsv`` beside this script: a line for each case, with its name, the bytes and the expected code points.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
MARK = "\ufffd"
ILL_FORMED = "ill-formed"
"""The expected result of a case of which the suite says no more."""

Chunks = tuple[bytes, ...]
Case = tuple[str, Chunks, str | tuple[str, ...]] | tuple[str, Chunks, str, str]
"""Name, input, expected text (of each chunk if a tuple), and the text without the marks where the suite has it."""


class Suite(NamedTuple):
    """Where a suite is from; `files` are the paths in the repository with the digests (SHA-256)."""

    repository: str
    commit: str
    licence: str
    files: dict[str, str]
    practice: str = "maximal-subparts"
    notes: tuple[str, ...] = ()


SUITES = {
    "utf8tests": Suite(
        "flenniken/utf8tests",
        "52cbdf830f3603047036070b086a1e5196df94d1",
        "MIT",
        {"utf8tests.txt": "bfcd61414aaa0400aafab17ff45ec521aba83533d831e9ec15ed7bf35023800e"},
    ),
    "wpt": Suite(
        "web-platform-tests/wpt",
        "048729d096afca5fcfc5956996b50e6c53a5349e, 08bc98ff45eec865ec7b241c9f606dbea3a09815, "
        "280f0c207b401223546a124f9785ff5f03888067",
        "BSD-3-Clause",
        {
            "encoding/textdecoder-fatal.any.js": "feed7b0f658b34aeec0b2cd8b2a3854a8cd15d29e99d0cad0606408d60b377ef",
            "encoding/textdecoder-streaming.any.js": "3de91f24e4b5f6d377ed8370d070f062f1096a8649562924330302f5c1413a2e",
            "encoding/textdecoder-eof.any.js": "91ddb006ab68ae2a107c3b389a8a8835dfe76dfc4ccc7eac397cb4b8caff22df",
        },
        notes=("note: the first commit is also in bocoup/wpt, a fork; only the cases of UTF-8",),
    ),
    "kuhn": Suite(
        "mattlong/testproj, a copy of https://www.cl.cam.ac.uk/~mgk25/ucs/examples/UTF-8-test.txt of 2003-02-19",
        "48959db2193b114c3dc5529c9662e718c918c127",
        "none is given in this edition; that of 2015 has CC BY 4.0",
        {"UTF-8-test.txt": "143963a1006c610f5bf80eb378b2bf8db7e49e2dec71066b2f36320a7661124b"},
        "malformed-sequence",
        (
            "note: bytes by the titles of the cases, for the copy has U+FFFD in their place; marks by the column of |",
            "differs: 5.3.1: noncharacters are scalar values, so their encodings are well-formed (D76, D92)",
            "differs: 5.3.2: noncharacters are scalar values, so their encodings are well-formed (D76, D92)",
        ),
    ),
    "cpython": Suite(
        "python/cpython",
        "v3.11.7",
        "PSF-2.0",
        {"Lib/test/test_unicode.py": "cbd8e851adb12e0a7391efd9bd6f5852415c0f4c3e0076a25798ebf84c3fdbc3"},
    ),
    "encoding_rs": Suite(
        "hsivonen/encoding_rs",
        "c4a16764e365fe4242d067875db59498aec17f65",
        "Apache-2.0 OR MIT",
        {"src/utf_8.rs": "ec81d6f4f52930fe09785bd2308f027c9e52c72dfbeaac6eedce0356ad6742c6"},
    ),
}


def utf8tests(text: str) -> Iterator[Case]:
    for line in text.splitlines():
        if match := re.match(r"([\d.]+): *(valid|invalid)( hex)?:(.*)", line):
            name, verdict, is_hex, rest = match.groups()
            fields = [rest.encode()] if not is_hex else []
            for field in rest.split(":") if is_hex else []:
                fields.append(bytes.fromhex(field.replace("nothing", "")))
            skipped, replaced = (fields[0], fields[0]) if verdict == "valid" else fields[1:]
            yield name, (fields[0],), replaced.decode(), skipped.decode()


def unescaped(literal: str) -> str:
    """The text of a literal in JavaScript or Rust."""
    text = re.sub(
        r"\\(?:x(\w\w)|u(\w{4})|u\{(\w+)\})", lambda match: chr(int(next(filter(None, match.groups())), 16)), literal
    )
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def wpt(fatal: str, *streaming: str) -> Iterator[Case]:
    for units, name in re.findall(r"encoding: 'utf-8', input: \[(.*?)\], name: '(.*?)'", fatal):
        yield f"fatal: {name}", (bytes(ast.literal_eval(f"[{units}]")),), ILL_FORMED
    [whole] = re.findall(r"'utf-8':\s*(\[[^\]]*\])", streaming[0])
    [expected] = re.findall(r"var string = '(.*)'", streaming[0])
    units = bytes(ast.literal_eval(whole))
    for length in range(1, 6):
        chunks = [units[i : i + length] for i in range(0, len(units), length)]
        yield f"streaming: {length} byte window", (*chunks, b""), unescaped(expected)
    call = (
        r"assert_equals\((?:new TextDecoder\(\)|decoder)\.decode\((?:.*?\[(.*?)\]\))?(, \{ ?stream: .*?\})?\), "
        r'"(.*?)"\)'
    )
    for title, source in zip(("streaming", "end of queue"), streaming, strict=True):
        given: list[tuple[bytes, str]] = []
        for number, (units_text, stream, text) in enumerate(re.findall(call, source), 1):
            given.append((bytes(ast.literal_eval(f"[{units_text}]")), unescaped(text)))
            if not stream:
                yield f"{title}: call {number}", tuple(a for a, _ in given), tuple(b for _, b in given)
                given = []


def rfc_2279(value: int, length: int) -> bytes:
    """The bytes of a value by the bit distribution of RFC 2279, which has up to six of them."""
    if length == 1:
        return bytes([value])
    rest = [0x80 | value >> 6 * place & 0x3F for place in reversed(range(length - 1))]
    return bytes([0xFF00 >> length & 0xFF | value >> 6 * (length - 1), *rest])


def kuhn(text: str) -> Iterator[Case]:
    cut_off: list[bytes] = []
    for line in text.splitlines():
        number, _, title = line.partition(" ")
        if match := re.match(r"\(0x(..)-0x(..)\)", title[title.find("(0x") :]):
            first, last = (int(each, 16) for each in match.groups())
            after = b" " if number.startswith("3.2") else b""
            units = b"".join(bytes([unit]) + after for unit in range(first, last + 1))
            yield number, (units,), (MARK + after.decode()) * (last + 1 - first)
        elif number == "3.4":
            yield number, (b"".join(cut_off),), MARK * len(cut_off)
        elif re.fullmatch(r"\d\.\d\.\d+", number) and '"' in line:
            before, after_quote = line[: line.index('"') + 1], line[line.rindex('"') :]
            quoted = line[len(before) : -len(after_quote)]
            marks = MARK * (79 - len(before) - len(after_quote))
            if match := re.search(r"(\d)[- ]byte\D.*\(U[-+](\w+)\)", before):
                length, value = int(match[1]), int(match[2], 16)
                units = rfc_2279(value, length)
                if "missing" in before:
                    units = units[:-1]
                    cut_off.append(units)
                elif length == 1:
                    quoted = chr(value)
            elif match := re.search(r"(\d) continuation", before):
                units = bytes.fromhex("80 BF" * 4)[: int(match[1])]
            else:
                units = bytes.fromhex(re.search(r'(?:0x|[ =]) ?((?:[0-9a-f]{2} ?)+) *[=:] "$', before)[1])
            accepted = quoted.encode() == units and not number.startswith("5")
            yield number, (units,), quoted if accepted else marks


class Recorder:
    """Stands for a test case of CPython, and notes what is asserted."""

    def __init__(self) -> None:
        self.cases: dict[bytes, str] = {}

    def assertRaises(self, _error: object, decode: Any, *_: object) -> None:  # noqa: N802 - the name in unittest
        self.cases.setdefault(decode.__self__, ILL_FORMED)

    def assertEqual(self, *_: object) -> None:  # noqa: N802 - the name in unittest
        names = sys._getframe(1).f_locals
        self.cases[names["seq"]] = names["res"]

    def assertCorrectUTF8Decoding(self, seq: bytes, res: str, _error: str) -> None:  # noqa: N802 - the name there
        self.cases[seq] = res


def cpython(text: str) -> Iterator[Case]:
    wanted = (
        r"    def (test_(?:utf8_decode_(?:in)?valid_sequences|issue8271|invalid_\w+|unexpected_end_of_data))\(self\)"
    )
    for match in re.finditer(rf"{wanted}.*?(?=^    def |^    @)", text, re.MULTILINE | re.DOTALL):
        recorder, names = Recorder(), dict[str, Any]()
        exec(textwrap.dedent(match[0]), names)  # The digest of the file has been checked.
        names[match[1]](recorder)
        for number, (units, expected) in enumerate(recorder.cases.items(), 1):
            yield f"{match[1]} {number}", (units,), expected


def encoding_rs(text: str) -> Iterator[Case]:
    call = r'decode_utf8_to_utf8\(\s*b"([^"]*)",\s*"([^"]*)",?\s*\)|decode_valid_utf8\("([^"]*)"\)'
    for number, (given, replaced, valid) in enumerate(re.findall(call, text), 1):
        expected = unescaped(replaced or valid)
        yield f"call {number}", (unescaped(given).encode("latin-1") if given else expected.encode(),), expected


def code_points(text: str) -> str:
    return text if text == ILL_FORMED else " ".join(f"{ord(character):04X}" for character in text)


def written(name: str, suite: Suite, cases: Iterable[Case]) -> str:
    lines = [
        f"# suite: {name}",
        f"# repository: {suite.repository}",
        f"# commit: {suite.commit}",
        *(f"# file: {path} {digest}" for path, digest in suite.files.items()),
        f"# licence: {suite.licence}",
        f"# practice: {suite.practice}",
        *(f"# {note}" for note in suite.notes),
        "# Name, bytes, expected code points; chunks end with /. A fourth column has the code points without marks.",
    ]
    for case, chunks, *results in cases:
        columns = [case, "/".join(chunk.hex(" ").upper() for chunk in chunks)]
        for result in results:
            columns.append("/".join(map(code_points, [result] if isinstance(result, str) else result)))
        lines.append("\t".join(columns))
    return "\n".join(lines) + "\n"


def main(name: str, *paths: str) -> None:
    suite, contents = SUITES[name], [Path(path).read_bytes() for path in paths]
    for path, content, digest in zip(paths, contents, suite.files.values(), strict=True):
        if hashlib.sha256(content).hexdigest() != digest:
            raise SystemExit(f"{path} is not the recorded file: its digest differs")
    cases = globals()[name](*(content.decode("utf-8", "replace") for content in contents))
    (FOLDER / f"{name}.tsv").write_text(written(name, suite, cases), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
