"""The documentation inside of the pages: ``docs/`` of this installation as HTML, by page and section, and searched.

It is read once, when somebody wants it first. Links among its pages lead to each other; what is not shipped (decisions,
source code) is text. `topics` says which section explains a page.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.safestring import SafeString

import vetro
from vetro.data_classes import dataclass
from vetro.server.catalog.inspection.markdown import tokens
from vetro.server.catalog.search_terms import terms_of
from vetro.server.web import markdown

#: Where the pages are, and what of the folder is for people who change Vetro.
ADDRESS: Final = "/app/help/"
_LEFT_OUT: Final = ("decisions/", "internals.md")
#: Characters around a word that a result shows.
_AROUND: Final = 90
_HEADING = re.compile("h[1-3]")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what follows it, as far as the next one. The first of a page has the page's own name."""

    page: str
    slug: str
    title: str
    html: SafeString
    text: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"{ADDRESS}{self.page}/#{self.slug}"


@dataclass(frozen=True, slots=True)
class ManualPage:
    """A file of the documentation."""

    name: str
    title: str
    html: SafeString
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A section that a search found, with the text around the word."""

    section: Section
    page: str
    around: str


def folder() -> Path | None:
    """Where the documentation is: beside the program as it is installed, else in the checkout; None without it."""
    program = Path(vetro.__file__).parent
    for place in (program / "docs", program.parent.parent / "docs"):
        if (place / "index.md").is_file():
            return place
    return None


def files(place: Path) -> Iterator[str]:
    """The paths of what is shown, without ``.md``, by name."""
    for path in sorted(place.rglob("*.md")):
        name = path.relative_to(place).as_posix()
        if not name.startswith(_LEFT_OUT):
            yield name.removesuffix(".md")


@functools.cache
def pages() -> dict[str, ManualPage]:
    """All pages by name (``catalog``, ``authors/classes``); none where the documentation is not installed."""
    place = folder()
    if place is None:
        return {}
    names = frozenset(files(place))
    return {name: _page(name, (place / f"{name}.md").read_text("utf-8"), names) for name in sorted(names)}


def section(page: str, slug: str) -> Section | None:
    """A section; None where there is none."""
    found = pages().get(page)
    return next((one for one in found.sections if one.slug == slug), None) if found is not None else None


def search(text: str, most: int = 20) -> list[Result]:
    """The sections that have all words, the best first: in the title of a section, of a page, at the beginning."""
    terms = [term.texts for term in terms_of(text)]
    if not terms:
        return []
    ranked: list[tuple[int, int, Result]] = []
    for page in pages().values():
        for place, one in enumerate(page.sections):
            title, of, body = one.title.lower(), page.title.lower(), one.text.lower()
            rank = 0
            for words in terms:
                if any(word in title for word in words):
                    rank += 0
                elif any(word in of for word in words):
                    rank += 1
                elif any(word in body for word in words):
                    rank += 3
                else:
                    break
            else:
                ranked.append((rank, place, Result(one, page.title, _around(one.text, terms))))
    ranked.sort(key=lambda item: item[:2])
    return [result for _, _, result in ranked[:most]]


def _around(text: str, terms: list[list[str]]) -> str:
    lower = text.lower()
    found = [at for words in terms for word in words if (at := lower.find(word)) >= 0]
    begin = max(min(found, default=0) - _AROUND // 2, 0)
    begin = text.find(" ", begin) + 1 if begin else 0
    shown = text[begin : begin + 2 * _AROUND]
    return f"{'… ' if begin else ''}{shown}{' …' if begin + len(shown) < len(text) else ''}"


def _page(name: str, text: str, names: frozenset[str]) -> ManualPage:
    found = tokens(text)
    render = functools.partial(markdown.html, link=lambda kind, target: _link(name, names, kind, target))
    parts = list(_parts(found))
    title = parts[0][1] if parts else name
    known: dict[str, int] = {}
    sections = []
    for _, heading, body in parts:
        slug = markdown.slug(heading)
        number = known[slug] = known.get(slug, -1) + 1
        shown = render(body, headings=1)
        sections.append(Section(name, f"{slug}-{number}" if number else slug, heading, shown, _plain(body)))
    # The first page stands below a heading of its own.
    return ManualPage(name, title, render(found, headings=int(name == "index")), tuple(sections))


def _parts(found: list[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """(tag, heading, what follows it) of each heading of the first three sizes."""
    starts = [at for at, token in enumerate(found) if token[0] == "heading_open" and _HEADING.fullmatch(token[1])]
    for at, until in zip(starts, [*starts[1:], len(found)], strict=True):
        yield found[at][1], markdown.text_of([found[at + 1]]), found[at + 3 : until]


def _plain(body: list[Any]) -> str:
    texts = (markdown.text_of([token]) if token[0] == "inline" else token[3] for token in body)
    return " ".join(" ".join(texts).split())


def _link(name: str, names: frozenset[str], kind: str, target: str) -> str | None:
    parts = urlsplit(target)
    if kind != "href":
        return None
    if parts.scheme or parts.netloc:
        return target if parts.scheme in ("http", "https") else None
    if not parts.path:
        return f"#{parts.fragment}"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path)).removesuffix(".md")
    if path not in names:
        return None
    return f"{ADDRESS}{path}/" + (f"#{parts.fragment}" if parts.fragment else "")
