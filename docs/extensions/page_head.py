# SPDX-License-Identifier: BSD-2-Clause
"""The title and the description of a page for search engines and for previews of links: its first paragraph."""

from __future__ import annotations

from html import escape
from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_LONGEST = 200
"""Characters of a description; search engines show fewer."""


def _add_tags(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    del template
    if doctree is None:
        return
    paragraphs = (each.astext() for each in doctree.findall(nodes.paragraph) if isinstance(each.parent, nodes.section))
    description = escape(shorten(next(paragraphs, app.config.project), _LONGEST, placeholder=" …"))
    title = escape(f"{app.env.titles[page].astext()} - {app.config.project}")
    context["metatags"] += (
        f'<meta name="description" content="{description}" />\n'
        f'<meta property="og:title" content="{title}" />\n'
        f'<meta property="og:description" content="{description}" />\n'
        '<meta property="og:type" content="article" />\n'
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", _add_tags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
