# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site: it is built without warnings, complete and self-contained."""

from __future__ import annotations

import importlib
import posixpath
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from support.javascript import FOLDER, LOGIC
from support.site import COMMAND, DOCS, build_site

from utf8fpga.cli.main import COMMANDS, cli
from utf8fpga.hdl import CORES

CHECKOUT = DOCS.parent

MADE = {"genindex.html", "py-modindex.html", "search.html"}
"""The pages that Sphinx makes without a source; the index of modules only if there are descriptions of modules."""


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, attribute: str, *tags: str) -> Iterator[str]:
        """The values of an attribute; default: of all elements."""
        return (found[attribute] for tag, found in self.elements if attribute in found and (not tags or tag in tags))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Elements]:
    """The pages by their paths in the site."""
    return {path.relative_to(site).as_posix(): Elements(path) for path in site.rglob("*.html")}


def test_the_command_is_in_the_docs() -> None:
    assert COMMAND.replace("SITE", "build/site") in (DOCS / "contributing.md").read_text(encoding="utf-8")


def test_every_source_is_a_page_with_the_licence_line(pages: dict[str, Elements]) -> None:
    sources = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    assert set(pages) - MADE == {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in sources}
    for path in DOCS.rglob("*.rst"):
        assert path.read_text(encoding="utf-8").startswith(".. SPDX-License-Identifier: BSD-2-Clause\n")


def test_the_index_is_the_first_screen_of_the_readme(pages: dict[str, Elements]) -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    shown = " ".join(pages["index.html"].text.split())
    for block in re.findall(r"```\w+\n(.*?)```", readme, re.DOTALL):
        assert " ".join(block.split()) in shown
    assert "_images/decoder.svg" in pages["index.html"].all("src")
    assert {"tutorial.html", "verilog.html"} <= set(pages["index.html"].all("href", "a"))
    claim = re.sub(r"\*\*|`|\[|\]\([^)]*\)", "", readme.split("\n\n")[1])
    assert " ".join(claim.split()) in shown
    assert "1 to 256" not in (DOCS / "index.rst").read_text(encoding="utf-8"), "included, not copied"


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[str, Elements]) -> None:
    for name, page in pages.items():
        loaded = [*page.all("src"), *page.all("srcset"), *page.all("href", "link"), *page.all("data", "object")]
        assert len(loaded) > 5
        assert not [each for each in loaded if re.match(r"\s*(\w+:)?//|http", each)], name
    for path in [*site.glob("_static/**/*.css")]:
        assert not re.findall(r"""(?:url\(|@import)\s*["']?(?:\w+:)?//""", path.read_text(encoding="utf-8")), path.name
    for path in site.glob("_static/try/*.js"):
        found = re.findall(
            r"\bfetch\b|\bimport\b|XMLHttpRequest|WebSocket|https?:(?!//www.w3.org)", path.read_text(encoding="utf-8")
        )
        assert not found, path.name


def test_every_link_within_the_site_has_a_target(site: Path, pages: dict[str, Elements]) -> None:
    identifiers = {name: set(page.all("id")) for name, page in pages.items()}
    checked = 0
    for name, page in pages.items():
        for link in page.all("href", "a"):
            address = urlsplit(link)
            if address.scheme:
                assert address.scheme in ("https", "http"), link
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(address.path)))
            target = target if address.path else name
            assert (site / target).is_file(), f"{name}: {link}"
            if address.fragment and target in identifiers:
                assert unquote(address.fragment) in identifiers[target], f"{name}: {link}"
            checked += 1
    assert checked > 1000


def inventory(site: Path) -> set[str]:
    """The names that the reference has, from the file for links of other projects."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}


@pytest.mark.parametrize("module", ["model", "model.arrays", "model.vectors", "hdl", "sim"])
def test_every_public_name_is_in_the_reference(site: Path, module: str) -> None:
    names = importlib.import_module(f"utf8fpga.{module}").__all__
    assert not {f"utf8fpga.{module}.{name}" for name in names} - inventory(site)


def test_constants_of_the_reference_have_their_own_docstrings(pages: dict[str, Elements]) -> None:
    text = " ".join(pages["python.html"].text.split())
    assert "Every table by its name, the Unicode encoding forms first." in text
    assert "Built-in immutable sequence" not in text


def test_every_page_has_a_title_and_a_description(pages: dict[str, Elements]) -> None:
    described = {name: page for name, page in pages.items() if name not in MADE}
    found = {}
    for name, page in described.items():
        metas = {
            each.get("name") or each.get("property"): each["content"]
            for tag, each in page.elements
            if tag == "meta" and "content" in each
        }
        assert metas["description"] == metas["og:description"], name
        assert 20 < len(metas["description"]) <= 200, name
        assert metas["og:title"].endswith(" - utf8fpga"), name
        found[name] = metas["description"]
    decode = cli.get_command(click.Context(cli), "decode")
    assert found["commands/decode.html"].startswith(" ".join((decode.help or "").split())[:40])
    assert len(set(found.values())) == len(found), "each page has its own"


def test_places_that_publish_the_site_build_it_with_the_command() -> None:
    workflow = (CHECKOUT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8")
    assert f"- run: {COMMAND.replace('SITE', 'build/site')}\n" in workflow
    assert "path: build/site" in workflow
    read_the_docs = (CHECKOUT / ".readthedocs.yaml").read_text(encoding="utf-8")
    assert "fail_on_warning: true" in read_the_docs
    assert (CHECKOUT / re.findall("configuration: (.*)", read_the_docs)[0]).is_file()
    assert "extra_requirements: [docs]" in read_the_docs


def test_every_command_and_option_is_in_the_reference(pages: dict[str, Elements]) -> None:
    identifiers = {
        command: {re.sub("-+", "-", each) for each in pages[f"commands/{command}.html"].all("id")}
        for command in COMMANDS
    }
    context = click.Context(cli)
    paths = [*COMMANDS]
    paths += [
        f"{name} {core}" for name in ("generate", "simulate", "prove", "bench") for core in CORES if core != "decoder"
    ]
    for path in paths:
        words, found = path.split(), cli
        while words and isinstance(found, click.Group):
            found = found.get_command(context, words.pop(0)) or found
        # The command line itself selects the core.
        prefix = f"utf8fpga-{path.replace(' ', '-')}".replace("---", "-")
        found_there = identifiers[path.split()[0]]
        assert prefix in found_there
        chosen = found.make_context(path, [*words, "x"], resilient_parsing=True).command
        options = [option for option in chosen.params if isinstance(option, click.Option)]
        assert not {f"cmdoption-{prefix}-{each.opts[0].lstrip('-')}" for each in options} - found_there, path
    assert "utf8fpga simulate encoder [OPTIONS] [FILE]" in " ".join(pages["commands/simulate.html"].text.split())
    links = set(pages["commands.html"].all("href", "a"))
    assert {f"commands/{name}.html" for name in COMMANDS} <= links


def test_only_the_options_of_the_first_core_are_unfolded(site: Path) -> None:
    for name, count in {"decode": 0, "simulate": len(CORES) - 1}.items():
        text = (site / "commands" / f"{name}.html").read_text(encoding="utf-8")
        assert text.count("<details class='options'>") == text.count("</details>") == count, name


def test_the_page_to_try_loads_its_scripts_in_order(site: Path, pages: dict[str, Elements]) -> None:
    scripts = [
        found for tag, found in pages["try.html"].elements if tag == "script" and "/try/" in found.get("src", "")
    ]
    names = [script["src"].partition("?")[0].removeprefix("_static/try/") for script in scripts]
    assert names == ["data.js", *LOGIC, "page.js"], "the order in which the other tests load them"
    assert {*names} == {path.name for path in (site / "_static" / "try").glob("*.js")}
    assert {*names} == {"data.js"} | {path.name for path in FOLDER.glob("*.js")}
    # A module is not loaded from a file.
    assert all("defer" in script and "type" not in script for script in scripts)
    assert not [
        name for name, page in pages.items() if name != "try.html" and any("/try/" in src for src in page.all("src"))
    ]


def test_every_element_that_the_script_uses_is_on_the_page(pages: dict[str, Elements]) -> None:
    text = (FOLDER / "page.js").read_text(encoding="utf-8")
    used = {f"try-{name}" for name in re.findall(r'\bat\("([\w-]+)"\)', text)}
    assert len(used) > 20
    assert used <= set(pages["try.html"].all("id"))


# Links to files that are not pages.


CONF = """
import sys
sys.path.insert(0, {folder!r})
extensions = ["myst_parser", "repository_links"]
repository_pages = {{"README.md": "index"}}
repository_url = {url!r}
"""


@pytest.mark.parametrize(
    ("url", "target"), [("", None), ("https://example.org/x/", "https://example.org/x/blob/main/model/dfa.py")]
)
def test_links_to_files_of_the_repository(tmp_path: Path, url: str, target: str | None) -> None:
    for name in ("sphinx", "myst_parser"):
        pytest.importorskip(name, reason="requires the extra 'docs'")
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "model").mkdir()
    for name in ("README.md", "model/dfa.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (docs / "conf.py").write_text(CONF.format(folder=str(DOCS / "extensions"), url=url), encoding="utf-8")
    (docs / "index.md").write_text("# Index\n\n[other](other.md)\n\n```{toctree}\nother\n```\n", encoding="utf-8")
    (docs / "other.md").write_text("# Other\n\n[first](../README.md) and [code](../model/dfa.py)\n", encoding="utf-8")
    done = build_site(docs, tmp_path / "site")
    assert (done.returncode, done.stderr.decode()) == (0, "")
    [found] = re.findall(r"<p>(.*) and (.*)</p>", (tmp_path / "site" / "other.html").read_text(encoding="utf-8"))
    assert 'href="index.html"' in found[0]
    assert re.findall('href="([^"]*)"', found[1]) == ([] if target is None else [target])
    assert re.sub("<[^>]*>", "", found[1]) == "code"
    assert not (tmp_path / "site" / "_downloads").exists()
