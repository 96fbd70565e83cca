# SPDX-License-Identifier: BSD-2-Clause
"""Judges software decoders by the vectors and the public suites: ``python docs/conformance/software.py``.

Runs those that are installed, writes their results to software.json, and the tables in conformance-software.md. The
drivers beside this script read lines of hexadecimal bytes; they write the version, then a line of code points each.
Debian has them in chromium, golang-go, icu-devtools, nodejs, openjdk-17-jdk, perl, php-mbstring, ruby, rustc and tcl.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from utf8fpga.cli.record import with_block
from utf8fpga.model import Practice, decode_with, is_well_formed
from utf8fpga.model.render import markdown
from utf8fpga.model.vectors import vectors

FOLDER = Path(__file__).parent
RECORD = FOLDER / "software.json"
PAGE = FOLDER.parent / "conformance-software.md"
SUITES = FOLDER.parents[1] / "tests" / "model" / "suites"

Result = list[int] | None
"""The code points that a decoder outputs; None if it rejects the text."""


def inputs() -> list[bytes]:
    """The distinct texts of the vectors and of all suites, the shortest first."""
    lines = [line for path in SUITES.glob("*.tsv") for line in path.read_text(encoding="utf-8").splitlines()]
    given = {bytes.fromhex(line.split("\t")[1].replace("/", "")) for line in lines if not line.startswith("# ")}
    return sorted(given | {vector.units for vector in vectors()}, key=lambda units: (len(units), units))


def digest() -> str:
    """The digest of the inputs: a record with another one is stale."""
    return sha256("\n".join(units.hex() for units in inputs()).encode()).hexdigest()


def _output(command: Sequence[str | Path], data: bytes = b"") -> bytes:
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=600).stdout


def _parsed(lines: Sequence[str]) -> list[Result]:
    return [None if line == "rejected" else [int(word, 16) for word in line.split()] for line in lines]


Run = Callable[[Sequence[bytes], Path], tuple[str, list[Result]]]
"""Runs a decoder: its version, and its result for each text; the folder is for what it compiles."""


def driver(*command: str) -> Run:
    """A driver of this folder, perhaps after a compiler: words that begin with ``./`` are in the temporary folder."""

    def run(texts: Sequence[bytes], folder: Path) -> tuple[str, list[Result]]:
        lines = "".join(f"{units.hex()}\n" for units in texts).encode()
        words = [FOLDER / word if word.lower().startswith("decode.") else word for word in command]
        version, *found = _output(words, lines).decode().split("\n")[:-1]
        return version, _parsed(found)

    return run


def rust(texts: Sequence[bytes], folder: Path) -> tuple[str, list[Result]]:
    _output(["rustc", "-o", folder / "decode", FOLDER / "decode.rs"])
    version = _output(["rustc", "--version"]).decode().split()[1]
    return driver(str(folder / "decode"), version)(texts, folder)


def chromium(texts: Sequence[bytes], folder: Path) -> tuple[str, list[Result]]:
    version = next(word for word in _output(["chromium", "--version"]).decode().split() if word[0].isdigit())
    lists = json.dumps([list(units) for units in texts])
    script = (FOLDER / "decode.js").read_text(encoding="utf-8")
    last = f"document.body.textContent = {lists}.map((units) => shown(decoded(new Uint8Array(units)))).join(';')"
    page = folder / "page.html"
    page.write_text(f"<body><script>{script}{last}</script></body>", encoding="utf-8")
    written = _output(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]).decode()
    return version, _parsed(written.partition("<body>")[2].partition("</body>")[0].split(";"))


def converter(*command: str) -> Run:
    """A program that converts one text on its standard input to UTF-32BE."""

    def run(texts: Sequence[bytes], _folder: Path) -> tuple[str, list[Result]]:
        version = _output([command[0], "--version"]).decode().splitlines()[0].split()[-1]
        results: list[Result] = []
        for units in texts:
            done = subprocess.run(command, input=units, capture_output=True, check=False, timeout=60)
            words = [int.from_bytes(done.stdout[at : at + 4]) for at in range(0, len(done.stdout), 4)]
            results.append(words if done.returncode == 0 or "-c" in command else None)
        return version, results

    return run


def cpython(texts: Sequence[bytes], _folder: Path) -> tuple[str, list[Result]]:
    return platform.python_version(), [[ord(each) for each in units.decode("utf-8", "replace")] for units in texts]


class Decoder(NamedTuple):
    """A decoder: its title, the program that it requires, and `judges`: texts, texts without marks, or acceptance."""

    title: str
    program: str
    run: Run
    judges: str = "text"


TO_UTF_32 = ("-f", "UTF-8", "-t", "UTF-32BE")

DECODERS = (
    Decoder("CPython, `decode` with `replace`", sys.executable, cpython),
    Decoder("Chromium, `TextDecoder`", "chromium", chromium),
    Decoder("Node.js, `TextDecoder`", "node", driver("node", "decode.js", "TextDecoder", "node")),
    Decoder("V8, `Buffer.toString` of Node.js", "node", driver("node", "decode.js", "buffer", "v8")),
    Decoder("simdutf, `isUtf8` of Node.js", "node", driver("node", "decode.js", "isUtf8", "simdutf"), "acceptance"),
    Decoder("ICU, `uconv`", "uconv", converter("uconv", *TO_UTF_32, "--from-callback", "substitute")),
    Decoder("Rust, `from_utf8_lossy`", "rustc", rust),
    Decoder("Go, `[]rune`", "go", driver("go", "run", "decode.go")),
    Decoder("Java, `new String`", "javac", driver("java", "Decode.java")),
    Decoder("Ruby, `scrub`", "ruby", driver("ruby", "decode.rb")),
    Decoder("PHP, `mb_scrub`", "php", driver("php", "decode.php")),
    Decoder("Perl Encode, `UTF-8`", "perl", driver("perl", "decode.pl", "UTF-8")),
    Decoder("Perl Encode, `utf8`", "perl", driver("perl", "decode.pl", "utf8")),
    Decoder("Tcl, `encoding convertfrom`", "tclsh", driver("tclsh", "decode.tcl")),
    Decoder("glibc, `iconv`", "iconv", converter("iconv", *TO_UTF_32), "acceptance"),
    Decoder("glibc, `iconv -c`", "iconv", converter("iconv", "-c", *TO_UTF_32), "text without marks"),
)


ACCEPTS, CHANGES, MARKS = "accepts ill-formed text", "changes well-formed text", "other numbers of marks"


def expected(decoder: Decoder, units: bytes, practice: Practice) -> Result:
    """The code points that a decoder should output; none of a text that is only accepted."""
    items = list(decode_with(units, practice))
    if decoder.judges == "acceptance":
        return None if any(item.error for item in items) else []
    return [item.code_point for item in items if decoder.judges == "text" or not item.error]


def difference(units: bytes, given: Result, wanted: Result) -> str | None:
    """The kind of difference between two results."""
    if given == wanted:
        return None
    given_parts, wanted_parts = (
        Counter(points or []) - Counter({ord("\ufffd"): len(units)}) for points in (given, wanted)
    )
    if wanted is None or given_parts - wanted_parts:
        return ACCEPTS
    return CHANGES if wanted_parts - given_parts or is_well_formed(units) else MARKS


def judged(decoder: Decoder, texts: Sequence[bytes], results: Sequence[Result]) -> dict[str, Any]:
    """The agreement of a decoder with each practice, the verdict, and the first text that shows it."""
    if decoder.judges == "acceptance":
        results = [result and [] for result in results]
    # Practices differ in marks only.
    practices = list(Practice) if decoder.judges == "text" else [Practice.MAXIMAL_SUBPARTS]
    kinds = {
        practice: [
            difference(units, result, expected(decoder, units, practice))
            for units, result in zip(texts, results, strict=True)
        ]
        for practice in practices
    }
    same = {str(practice): found.count(None) for practice, found in kinds.items()}
    found = kinds[Practice.MAXIMAL_SUBPARTS]
    verdict = next((kind for kind in (ACCEPTS, CHANGES, MARKS) if kind in found), "conforms")
    first = None
    if verdict != "conforms":
        at = found.index(verdict)
        points = " ".join(f"{point:04X}" for point in results[at] or [])
        first = {"bytes": texts[at].hex(" ").upper(), "given": points}
        if perfect := [name for name, number in same.items() if number == len(texts)]:
            verdict = f"conforms to {perfect[0]}"
    return {"judged": decoder.judges, "verdict": verdict, "same": same, "first": first}


def table(record: dict[str, Any]) -> str:
    """The table of the page."""
    agreeing = f"maximal subparts, of {record['texts']}", "nearest other practice"
    rows = []
    for row in record["decoders"]:
        same, first = dict(row["same"]), row["first"]
        best = same.pop(str(Practice.MAXIMAL_SUBPARTS))
        same.pop(str(Practice.START_OF_A_SEQUENCE), None)  # It is another definition of the same marks.
        nearest = max(same, key=lambda name: same[name], default=None)
        other = f"{nearest}, {same[nearest]}" if nearest and first else ""
        shown = f"`{first['bytes']}` → " + (first["given"] or "nothing") if first else ""
        judges = "" if row["judged"] == "text" else f" ({row['judged']})"
        rows.append([row["decoder"], row["version"], row["verdict"] + judges, str(best), other, shown])
    return markdown(["decoder", "version", "verdict", *agreeing, "a first difference"], rows)


def suites_table() -> str:
    """The table of the public suites, from the headers of their files."""
    rows = []
    for path in sorted(SUITES.glob("*.tsv")):
        content = path.read_text(encoding="utf-8").splitlines()
        notes = dict(line[2:].split(": ", 1) for line in content if line.startswith("# ") and ": " in line)
        cases = sum(not line.startswith("# ") for line in content)
        repository, _, copied = notes["repository"].partition(", a copy of ")
        source = f"[{repository}](https://github.com/{repository})" + (
            f", [original]({copied.split()[0]})" if copied else ""
        )
        names = [line.split(": ")[1] for line in content if line.startswith("# differs: ")]
        why = f"{', '.join(names)}: {notes['differs'].partition(': ')[2]}" if names else ""
        rows.append([path.stem, source, notes["licence"], str(cases), notes["practice"], why])
    return markdown(["suite", "source", "licence", "cases", "practice", "differs"], rows)


def with_tables(page: str, record: dict[str, Any]) -> str:
    """The page with the tables of a record and of the suites."""
    return with_block(with_block(page, "decoders", table(record)), "suites", suites_table())


def row_of(decoder: Decoder, texts: Sequence[bytes]) -> dict[str, Any]:
    """The row of a decoder, which is run."""
    with TemporaryDirectory() as folder:
        version, results = decoder.run(texts, Path(folder))
    return {"decoder": decoder.title, "version": version, **judged(decoder, texts, results)}


def main() -> None:
    texts, rows = inputs(), []
    for decoder in DECODERS:
        if shutil.which(decoder.program):
            rows.append(row_of(decoder, texts))
        else:
            print(f"not installed, so not in the record: {decoder.title}", file=sys.stderr)
    record = {"inputs": digest(), "texts": len(texts), "decoders": rows}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")


if __name__ == "__main__":
    main()
