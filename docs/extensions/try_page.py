# SPDX-License-Identifier: BSD-2-Clause
"""The scripts of the page "Try it in the browser": its data are made at the build, and no other page loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from try_data import circuits, script

PAGE = "try"
SCRIPTS = ("data.js", "decoder.js", "practices.js", "text.js", "circuit.js", "stream.js", "waveform.js", "page.js")
"""The scripts in the order in which they are loaded; each uses those before it."""


def _write_data(app: Sphinx) -> None:
    """Write the data beside the other scripts, which are copied later."""
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / PAGE
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SCRIPTS[0]).write_text(script(circuits()), encoding="utf-8", newline="\n")


def _add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    del template, context, doctree
    if page == PAGE:
        app.add_css_file(f"{PAGE}/page.css")
        for name in SCRIPTS:
            app.add_js_file(f"{PAGE}/{name}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", _write_data)
    app.connect("html-page-context", _add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
