# SPDX-License-Identifier: BSD-2-Clause
"""The page "Try it in the browser" in Chromium, from a file, against CPython."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from support.oracle import items_of
from support.processes import run

pytestmark = pytest.mark.slow

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def opened(site: Path, folder: Path, link: str) -> str:
    """The elements of the page after its scripts have run."""
    if BROWSER is None:
        pytest.skip("Chromium is not installed")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--virtual-time-budget=5000"]
    address = f"{(site / 'try.html').as_uri()}#{link}"
    done = run([BROWSER, *options, "--dump-dom", address], capture_output=True)
    assert done.returncode == 0
    return done.stdout.decode()


def text_of(page: str, identifier: str) -> str:
    [found] = re.findall(rf'<(\w+) id="try-{identifier}".*?>(.*?)</\1>', page, re.DOTALL)
    return unescape(re.sub("<[^>]*>", "", found[1]))


EQUAL = "equal to the table's decoder: yes."


@pytest.mark.parametrize(
    ("text", "options", "result"),
    [
        # Without pauses: one cycle of reset, one for each byte, one of latency.
        (b"\xe1\x80A\xed\xa0\x80\xf0\x9f\x98\x80", "", f"12 cycles, 10 beats, 6 items; {EQUAL}"),
        (b"\xe1\x80A" * 100, "&circuit=parallel%2C%204%20lanes%2C%20packed&pauses=30&stalls=40", None),
        (b"\xc3\xa9" * 300, "&circuit=serial%2C%20pipelined&stalls=90", None),
        (b"", "", f"3 cycles, 1 beat, 0 items; {EQUAL}"),
    ],
    ids=["smallest", "packed", "pipelined", "empty"],
)
def test_items_and_circuit(site: Path, tmp_path: Path, text: bytes, options: str, result: str | None) -> None:
    page = opened(site, tmp_path, f"hex={text.hex() or '-'}{options}")
    items = items_of(text)
    drawn = [item for item in items if item[0] + item[1] <= 400]
    points = re.findall('<span class="try-point">(.*?)</span>', page)
    assert points == [f"U+{point:04X}" for _, _, point, _ in drawn]
    causes = re.findall('<span class="try-cause">(.*?)</span>', page)
    assert causes == [cause.replace("_", " ").lower() for *_, cause in drawn if cause]
    ill_formed = sum(cause is not None for *_, cause in items)
    assert text_of(page, "count") == f"{len(text)} bytes, {len(items)} items, {ill_formed} ill-formed."
    assert text_of(page, "browser").endswith("gives the same text: yes.")
    found = text_of(page, "result")
    assert found == result if result else f"{len(items)} items; {EQUAL}" in found
    assert text_of(page, "error") == ""
    assert text_of(page, "python").splitlines()[0].endswith('.decode("utf-8", "replace")')


def test_invalid_digits_in_a_link_have_one_message(site: Path, tmp_path: Path) -> None:
    page = opened(site, tmp_path, "hex=ZZ&table=none&circuit=none&pauses=x&seed=y")
    assert text_of(page, "error") == '"Z" is not a hexadecimal digit: write bytes as two digits each.'


def test_the_circuit_follows_the_table(site: Path, tmp_path: Path) -> None:
    page = opened(site, tmp_path, "hex=FDBFBFBFBFBF&table=UTF-8%20of%20RFC%202279")
    assert re.findall('<span class="try-point">(.*?)</span>', page) == ["U+7FFFFFFF"]
    assert f"1 item; {EQUAL}" in text_of(page, "result").replace("items", "item")
    assert text_of(page, "netlist").endswith("utf8fpga generate --table utf-8-of-rfc-2279.")
