"""`reference`: a page in Markdown about the classes of some packages, made from their source.

What people read is what stands there: properties and methods with their contracts, and the comment above each. Native
methods show the docstring of their Python side. Names that begin with ``_`` or ``.``, and tests, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vetro.muranopl.contracts.model import ContractList, ContractMap
from vetro.muranopl.declarations import tree as d
from vetro.muranopl.tools.fixtures import FIXTURE
from vetro.packages.deprecation import deprecation
from vetro.yaql.resolve.signature import REQUIRED

#: Longer defaults are not shown.
_LONGEST_DEFAULT = 60


def reference(session: Any, packages: Iterable[Any]) -> str:
    """The page; ``session`` has the packages. Raises what linking a class raises."""
    lines: list[str] = []
    fixture = session.types.core(FIXTURE)
    for package in packages:
        lines += [f"## {package.name}", ""]
        for name in sorted(package.classes):
            kind = session.types.in_package(package, name)
            if not kind.derives_from(fixture) or kind.key == fixture.key:
                lines += _of_class(kind, name)
    return "\n".join(lines).rstrip("\n") + "\n"


def _of_class(kind: Any, name: str) -> Iterator[str]:
    source = kind.package.read_class(name)[0].splitlines()
    decl: d.ClassDecl = kind.decl
    yield from (f"### {name}", "")
    about = _comment_of_document(source, decl.position.line)
    parents = [parent.name for parent in kind.parents if parent.name != "io.murano.Object"]
    notes = [about] if about else []
    if kind.is_meta:
        notes.append("A meta-class.")
    if parents:
        notes.append("Extends " + ", ".join(f"`{parent}`" for parent in parents) + ".")
    notes += _deprecated(kind, decl.meta)
    if notes:
        yield from (" ".join(notes), "")
    properties = [prop for prop in decl.properties.values() if not prop.name.startswith("_")]
    if properties:
        yield from ("| property | contract | default | |", "|---|---|---|---|")
        for prop in properties:
            usage = "" if prop.usage is d.PropertyUsage.IN else f"{prop.usage.value}. "
            about = usage + _comment_above(source, prop.position.line)
            about = " ".join([about, *_deprecated(kind, prop.meta)]).strip()
            yield _row(prop.name, contract_text(prop.contract), _default(prop.default), about)
        yield ""
    methods = [m for name, m in kind.own_methods.items() if not name.startswith(("_", "."))]
    for method in methods:
        yield _of_method(method, source)
    if methods:
        yield ""


def _row(name: str, contract: str, default: str, about: str) -> str:
    cells = (f"`{name}`", f"`{contract}`", f"`{default}`" if default else "", about)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _of_method(method: Any, source: Sequence[str]) -> str:
    if method.native is not None:
        shown = [_argument(p.name, "" if p.default is REQUIRED else _plain(p.default)) for p in method.native.params]
        about, static = " ".join(method.native.doc.split()), method.static
    else:
        shown = [_argument(a.name, _default(a.default)) for a in method.decl.arguments]
        about, static = _comment_above(source, method.decl.position.line), method.static
        about = " ".join([about, *_deprecated(method.declaring, method.decl.meta)]).strip()
    kinds = [word for word, holds in (("static", static), ("public", method.public)) if holds]
    words = f" ({', '.join(kinds)})" if kinds else ""
    return f"- `{method.name}({', '.join(shown)})`{words}" + (f": {about}" if about else "")


def _deprecated(kind: Any, metas: Sequence[d.MetaDecl]) -> list[str]:
    """The sentence about what is not to be used any more, in one line: cells of tables have no more."""
    told = deprecation(kind, metas)
    if told is None:
        return []
    text, instead = (" ".join(part.split()) for part in (told.text, (told.replacement or "").replace("`", "")))
    return [f"**Deprecated**: {text}" + (f"; use `{instead}`." if instead else ".")]


def _argument(name: str, default: str) -> str:
    return f"{name}={default}" if default else name


def contract_text(contract: Any) -> str:
    """A contract in one line."""
    if isinstance(contract, ContractList):
        bounds = [str(number) for number in (contract.minimum, contract.maximum) if number is not None]
        return "[" + ", ".join([*map(contract_text, contract.items), *bounds]) + "]"
    if isinstance(contract, ContractMap):
        pairs = [f"{key}: {contract_text(value)}" for key, value in contract.entries]
        pairs += [f"{key.text}: {contract_text(value)}" for key, value in contract.rest]
        return "{" + ", ".join(pairs) + "}"
    return str(getattr(contract, "text", contract))


def _default(template: Any) -> str:
    if template is d.NO_DEFAULT:
        return ""
    if isinstance(template, d.Expression):
        return template.text
    if isinstance(template, d.Literal):
        return _plain(template.value)
    return "…"


def _plain(value: Any) -> str:
    words = {None: "null", True: "true", False: "false"}
    text = words[value] if value is None or isinstance(value, bool) else repr(value) if value == "" else str(value)
    if isinstance(value, (tuple, dict)):
        text = "…" if value else "[]" if isinstance(value, tuple) else "{}"
    return text if len(text) <= _LONGEST_DEFAULT else "…"


def _comment_above(source: Sequence[str], line: int) -> str:
    """The comment that ends in the line above the one with this number."""
    first = line - 1
    while first > 0 and source[first - 1].lstrip().startswith("#"):
        first -= 1
    return _joined(source[first : line - 1])


def _comment_of_document(source: Sequence[str], line: int) -> str:
    """The comment that the document with this line begins with."""
    first = line - 1
    while first > 0 and not source[first - 1].startswith("---"):
        first -= 1
    while first < len(source) and not source[first].strip():
        first += 1
    last = first
    while last < len(source) and source[last].startswith("#"):
        last += 1
    return _joined(source[first:last])


def _joined(lines: Sequence[str]) -> str:
    return " ".join(text for line in lines if (text := line.strip().lstrip("#").strip()))
