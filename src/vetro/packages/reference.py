"""`reference`: a page in Markdown about the classes of some packages, made from their source; `pages`: one a class.

What people read is what stands there: properties and methods with their contracts, and the comment above each. Native
methods show the docstring of their Python side. Names that begin with ``_`` or ``.``, and tests, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    for package in packages:
        lines += [f"## {package.name}", ""]
        for name, kind in _classes(session, package):
            source = _source(kind, name)
            lines += [f"### {name}", "", *_about(kind, source, {}), *_properties(kind, source), *_methods(kind, source)]
    return _text(lines)


def pages(session: Any, package: Any) -> dict[str, str]:
    """The pages by the names of their files: one a class, which lead to each other, and ``index.md``, which has all."""
    classes = dict(_classes(session, package))
    files = {name: f"{name.removeprefix(f'{package.name}.')}.md" for name in classes}
    found = {files[name]: _page(kind, name, classes, files) for name, kind in classes.items()}
    rows = [f"| [{file[:-3]}]({file}) | {_sentence(classes[name], name)} |" for name, file in files.items()]
    return {"index.md": _text([f"# {package.name}", "", "| class | |", "|---|---|", *rows]), **found}


def _classes(session: Any, package: Any) -> Iterator[tuple[str, Any]]:
    """(name, class) of those that are shown, by name."""
    fixture = session.types.core(FIXTURE)
    for name in sorted(package.classes):
        kind = session.types.in_package(package, name)
        if not kind.derives_from(fixture) or kind.key == fixture.key:
            yield name, kind


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _source(kind: Any, name: str) -> list[str]:
    return kind.package.read_class(name)[0].splitlines()  # type: ignore[no-any-return]


def _page(kind: Any, name: str, classes: Mapping[str, Any], files: Mapping[str, str]) -> str:
    source = _source(kind, name)
    lines = [f"# {name}", "", "[All classes](index.md)", "", *_about(kind, source, files)]
    heirs = [one for one, other in classes.items() if any(parent.name == name for parent in other.parents)]
    if heirs:
        lines += ["Extended by " + ", ".join(_linked(one, files) for one in heirs) + ".", ""]
    for title, part in (("Properties", _properties(kind, source)), ("Methods", _methods(kind, source))):
        if found := list(part):
            lines += [f"## {title}", "", *found]
    if inherited := list(_inherited(kind, files)):
        lines += ["## Inherited", "", *inherited]
    return _text(lines)


def _ancestors(kind: Any) -> list[Any]:
    """What a class extends, and what that extends; each once."""
    found: dict[str, Any] = {}
    work = list(kind.parents)
    while work:
        one = work.pop(0)
        if one.name not in found:
            found[one.name] = one
            work += one.parents
    return list(found.values())


def _inherited(kind: Any, files: Mapping[str, str]) -> Iterator[str]:
    """What comes from other classes of the package and is not declared again nearer to this one."""
    seen = {*_members(kind)}
    for one in _ancestors(kind):
        names = [name for name in _members(one) if name not in seen]
        seen |= {*names}
        if names and one.name in files:
            yield f"- of {_linked(one.name, files)}: " + ", ".join(f"`{name}`" for name in names)


def _members(kind: Any) -> list[str]:
    return [*_shown(kind.decl.properties), *(f"{name}()" for name in _shown(kind.own_methods))]


def _shown(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.startswith(("_", "."))]


def _linked(name: str, files: Mapping[str, str]) -> str:
    """The name of a class, which leads to its page if there is one."""
    return f"[`{name}`]({files[name]})" if name in files else f"`{name}`"


def _sentence(kind: Any, name: str) -> str:
    """The first sentence about a class, as a cell of a table has it."""
    about = _comment_of_document(_source(kind, name), kind.decl.position.line)
    return about.partition(". ")[0].removesuffix(".").replace("|", "\\|")


def _about(kind: Any, source: Sequence[str], files: Mapping[str, str]) -> Iterator[str]:
    decl: d.ClassDecl = kind.decl
    about = _comment_of_document(source, decl.position.line)
    parents = [parent.name for parent in kind.parents if parent.name != "io.murano.Object"]
    notes = [about] if about else []
    if kind.is_meta:
        notes.append("A meta-class.")
    if parents:
        notes.append("Extends " + ", ".join(_linked(parent, files) for parent in parents) + ".")
    notes += _deprecated(kind, decl.meta)
    if notes:
        yield from (" ".join(notes), "")


def _properties(kind: Any, source: Sequence[str]) -> Iterator[str]:
    decl: d.ClassDecl = kind.decl
    properties = [decl.properties[name] for name in decl.properties if not name.startswith("_")]
    if properties:
        yield from ("| property | contract | default | |", "|---|---|---|---|")
        for prop in properties:
            usage = "" if prop.usage is d.PropertyUsage.IN else f"{prop.usage.value}. "
            about = usage + _comment_above(source, prop.position.line)
            about = " ".join([about, *_deprecated(kind, prop.meta)]).strip()
            yield _row(prop.name, contract_text(prop.contract), _default(prop.default), about)
        yield ""


def _methods(kind: Any, source: Sequence[str]) -> Iterator[str]:
    methods = [kind.own_methods[name] for name in _shown(kind.own_methods)]
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
