# SPDX-License-Identifier: BSD-2-Clause
"""The site in Chromium: its search, narrow windows, wide tables, paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.site import DOCS


def results(tab: Tab, site: Path, query: str) -> list[str]:
    """The targets of the search's results, in order."""
    tab.resize(1280)
    tab.open(f"{(site / 'search.html').as_uri()}?q={query}")
    found: Any = tab("""new Promise((done) => (function poll() {
      if (!document.querySelector(".search-summary")?.textContent.includes("finished")) return setTimeout(poll, 10);
      done([...document.querySelectorAll("ul.search > li > a")].map((each) => each.getAttribute("href")));
    })())""")
    return [str(each) for each in found]


@pytest.mark.parametrize("command", ["simulate", "generate", "prove", "talk"])
def test_the_search_finds_a_command_first(tab: Tab, site: Path, command: str) -> None:
    assert results(tab, site, command)[0].partition("#")[0] == f"commands/{command}.html"


@pytest.mark.parametrize("name", ["model.arrays.decode_array", "hdl.DecoderParameters", "model.Practice"])
def test_the_search_finds_a_class_or_a_function_before_pages_that_mention_it(tab: Tab, site: Path, name: str) -> None:
    found = results(tab, site, name.rpartition(".")[2])
    # Only headings with that word may stand before it.
    place = next(number for number, link in enumerate(found) if link.endswith(f"#utf8fpga.{name}"))
    assert place <= 3
    assert all("#" in link for link in found[:place])


# Those with the widest tables, blocks, drawings and headings; the others in a longer tier.
WIDE = ("commands/generate", "how-it-works", "index", "performance", "checking", "try", "decoder")
OTHERS = sorted({path.stem for path in [*DOCS.glob("*.md"), *DOCS.glob("*.rst")]} - {*WIDE, "experiments"})


@pytest.mark.parametrize("names", [WIDE, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["wide", "others"])
def test_no_page_is_wider_than_the_window(names: Sequence[str], tab: Tab, site: Path) -> None:
    for name in names:
        tab.open((site / f"{name}.html").as_uri())
        for width in (1280, 390):
            tab.resize(width)
            assert tab("document.documentElement.scrollWidth") <= width, name
