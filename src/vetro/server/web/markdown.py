"""`html`: tokens of Markdown (`vetro.server.catalog.inspection.markdown`) as HTML that is safe to show.

Whoever read the text may have been taken over by it, so nothing of a token is believed: kinds, tags and attributes are
those of a short list, texts are escaped, and addresses go through the caller's function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

#: (``href`` or ``src``, address as it is written) -> the address on the page; None: only the text, or nothing.
Link = Callable[[str, str], str | None]

#: Kinds of tokens that open and close an element, and the element.
_ELEMENTS: Final = {
    "paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li",
    "em": "em", "strong": "strong", "s": "s", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td",
}  # fmt: skip
_ALIGNED: Final = {"text-align:right": "text-end", "text-align:center": "text-center"}
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,30}")


def html(tokens: Any, link: Link, headings: int = 0) -> SafeString:
    """The HTML; headings of the text become smaller by that many."""
    return mark_safe("".join(_Renderer(link, headings).parts(tokens)))


def slug(text: str) -> str:
    """How a heading is linked to, as on the sites that show Markdown of repositories."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.strip().lower()))


def text_of(tokens: Any) -> str:
    """The text of a line without its marks."""
    found = []
    for token in _sound(tokens):
        kind, content, children = token[0], token[3], token[5]
        if children:
            found.append(text_of(children))
        elif kind in ("text", "code_inline"):
            found.append(content)
        elif kind in ("softbreak", "hardbreak"):
            found.append(" ")
    return "".join(found)


class _Renderer:
    def __init__(self, link: Link, headings: int) -> None:
        self._link = link
        self._headings = headings
        #: Whether the links that are open have an address.
        self._open: list[bool] = []
        self._slugs: dict[str, int] = {}

    def parts(self, tokens: Any) -> Iterator[str]:
        """The HTML of each token."""
        listed = list(_sound(tokens))
        for place, (kind, tag, attributes, content, info, children, hidden) in enumerate(listed):
            name, _, end = kind.rpartition("_")
            if kind == "inline":
                yield from self.parts(children)
            elif kind == "text":
                yield escape(content)
            elif kind == "code_inline":
                yield f"<code>{escape(content)}</code>"
            elif kind in ("fence", "code_block"):
                language = _LANGUAGE.match(info)
                mark = f' data-language="{language[0]}"' if language else ""
                yield f'<pre class="document" tabindex="0"{mark}><code>{escape(content)}</code></pre>'
            elif kind in ("softbreak", "hardbreak"):
                yield "<br>" if kind == "hardbreak" else "\n"
            elif kind == "hr":
                yield "<hr>"
            elif kind == "image":
                yield self._image(attributes, text_of(children or ()))
            elif kind == "heading_open":
                line = listed[place + 1] if place + 1 < len(listed) else None
                yield f'<{self._heading(tag)} id="{escape(self._slug(text_of([line] if line else ())))}">'
            elif kind == "heading_close":
                yield f"</{self._heading(tag)}>"
            elif kind == "link_open":
                yield self._opened(attributes)
            elif kind == "link_close":
                yield "</a>" if self._open and self._open.pop() else ""
            elif name in _ELEMENTS and end in ("open", "close") and not hidden:
                beside = listed[place + 1 if end == "open" else place - 1] if 0 < place < len(listed) - 1 else None
                if name == "th" and not (beside is not None and text_of([beside])):
                    name = "td"  # nothing is headed by it
                yield self._element(name, end == "open", attributes)

    def _element(self, name: str, opens: bool, attributes: dict[str, Any]) -> str:
        tag = _ELEMENTS[name]
        if name == "table":
            return '<div class="table-box" tabindex="0"><table class="table">' if opens else "</table></div>"
        if not opens:
            return f"</{tag}>"
        aligned = _ALIGNED.get(str(attributes.get("style", "")))
        start = attributes.get("start")
        more = f' class="{aligned}"' if aligned else ""
        more += f' start="{start}"' if tag == "ol" and isinstance(start, int) else ""
        return f"<{tag}{more}>"

    def _heading(self, tag: str) -> str:
        level = int(tag[1]) if re.fullmatch("h[1-6]", tag) else 6
        return f"h{min(level + self._headings, 6)}"

    def _slug(self, text: str) -> str:
        name = slug(text)
        number = self._slugs.get(name, 0)
        self._slugs[name] = number + 1
        return f"{name}-{number}" if number else name

    def _opened(self, attributes: dict[str, Any]) -> str:
        address = self._link("href", str(attributes.get("href", "")))
        self._open.append(address is not None)
        if address is None:
            return ""
        away = "" if address[:1] in "/#" else ' rel="noreferrer noopener" target="_blank"'
        return f'<a href="{escape(address)}"{away}>'

    def _image(self, attributes: dict[str, Any], words: str) -> str:
        address = self._link("src", str(attributes.get("src", "")))
        if address is None:
            return escape(words)
        return f'<img src="{escape(address)}" alt="{escape(words)}" loading="lazy">'


def _sound(tokens: Any) -> Iterator[Sequence[Any]]:
    """Those that have the shape of one."""
    for token in tokens if isinstance(tokens, (list, tuple)) else ():
        if isinstance(token, (list, tuple)) and len(token) == 7:
            kind, tag, attributes, content, info, _, _ = token
            if all(isinstance(part, str) for part in (kind, tag, content, info)) and isinstance(attributes, dict):
                yield token
