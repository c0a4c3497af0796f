"""`tokens`: Markdown as plain data. Of packages this runs behind walls: a text can be written so that reading it takes
long. `vetro.server.web.markdown` makes HTML of it, and believes nothing of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

#: Tokens of a text; the rest is left out.
MOST = 40_000


def tokens(text: str) -> list[list[Any]]:
    """[type, tag, attributes, content, info, children or None, hidden] of each token, in order."""
    return _plain(_parser().parse(text.replace("\0", ""))[:MOST])


@functools.cache
def _parser() -> MarkdownIt:
    # Tags are read as such, to be left out: as text they would be in everybody's way.
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _plain(found: Sequence[Token]) -> list[list[Any]]:
    return [
        [one.type, one.tag, dict(one.attrs), one.content, one.info, one.children and _plain(one.children), one.hidden]
        for one in found
    ]
