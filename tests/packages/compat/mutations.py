"""Operators that change a package, each with what the change is to whoever uses it.

They work on the syntax tree of YAML, so everything else is written as it was. A `Mutant` that is `Level.MAJOR` fails
somebody; one that is `Level.MINOR` can be noticed, one that is `Level.PATCH` cannot.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vetro.packages.compat.findings import Level
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.packages.manifest import parse_manifest
from vetro.packages.package import LoadedPackage

MAJOR, MINOR, PATCH = Level.MAJOR, Level.MINOR, Level.PATCH
Files = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    """A changed package: its files, what the change is, and the member that it is about."""

    files: Files
    level: Level
    element: str


def files_of(folder: Path) -> Files:
    """Files of a package; those in YAML as syntax trees."""
    found: Files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(folder))
            tree = name == "manifest.yaml" or name.startswith("Classes/")
            found[name] = list(yaml.compose_all(path.read_text("utf-8"))) if tree else path.read_bytes()
    return found


def loaded(files: Files) -> LoadedPackage:
    """The package that these files are."""
    content = {
        name: yaml.serialize_all(value, width=100_000) if isinstance(value, list) else value
        for name, value in files.items()
    }
    tree = MemoryTree(content, "package")
    return default_registry().load(tree, parse_manifest(tree.read("manifest.yaml"), tree.file_id("manifest.yaml")))


# -- trees -------------------------------------------------------------------------------------------------------------


def node(text: str) -> Any:
    return yaml.compose(text)


def get(mapping: Any, name: str) -> Any:
    if not isinstance(mapping, yaml.MappingNode):
        return None
    return next((value for key, value in mapping.value if key.value == name), None)


def put(mapping: Any, name: str, text: str) -> None:
    drop(mapping, name)
    mapping.value.append((node(name), node(text)))


def drop(mapping: Any, name: str) -> None:
    mapping.value[:] = [pair for pair in mapping.value if pair[0].value != name]


def rename(mapping: Any, name: str) -> None:
    next(key for key, _ in mapping.value if key.value == name).value = f"{name}Renamed"


def scalar(mapping: Any, name: str) -> str:
    found = get(mapping, name)
    return found.value if isinstance(found, yaml.ScalarNode) else ""


@dataclass
class Site:
    """A class in a copy of a package that may be changed."""

    files: Files
    package: Any
    name: str
    tree: Any
    #: Names of members that its bases have, too: without its own one there is still theirs.
    inherited: frozenset[str] = frozenset()

    def members(self, section: str) -> Iterator[tuple[str, Any]]:
        found = get(self.tree, section)
        if isinstance(found, yaml.MappingNode):
            yield from ((key.value, value) for key, value in found.value if isinstance(value, yaml.MappingNode))


Way = Callable[[Site], Iterator[tuple[Level, str, Callable[[Site], None]]]]
OPERATORS: dict[str, Way] = {}


def operator(way: Way) -> Way:
    OPERATORS[way.__name__] = way
    return way


def mutants(files: Files, package: LoadedPackage, session: Any, way: Way) -> Iterator[Callable[[], Mutant]]:
    """Makers of what an operator makes of a package, one for each place where it can be applied.

    ``session``: where its classes are linked.
    """
    for name, path in package.classes.items():
        inner = path.removeprefix("package/")
        trees = files.get(inner)
        if not isinstance(trees, list) or len(trees) != 1:
            continue
        bases = session.types.in_package(package, name).ancestors[1:]
        inherited = frozenset(member for base in bases for member in (*base.own_properties, *base.own_methods))
        for level, member, change in way(Site(files, package, name, trees[0], inherited)):

            def made(name: str = name, inner: str = inner, level: Level = level, member: str = member,
                     change: Callable[[Site], None] = change) -> Mutant:  # fmt: skip
                changed = copy.deepcopy(files)
                change(Site(changed, package, name, changed[inner][0]))
                return Mutant(changed, level, name + member)

            yield made


def _properties(site: Site, *usages: str) -> Iterator[tuple[str, Any]]:
    for name, prop in site.members("Properties"):
        own = not name.startswith("_") and name not in site.inherited
        if own and (scalar(prop, "Usage") or "In") in usages:
            yield name, prop


def _prop(site: Site, name: str) -> Any:
    return get(get(site.tree, "Properties"), name)


def _plain(prop: Any) -> bool:
    """Whether its contract is a chain that converts, and takes more than null."""
    return scalar(prop, "Contract").startswith(("$.int()", "$.string()"))


GIVEN = ("In", "Const", "InOut")


def _on(name: str, change: Callable[[Any], None]) -> Callable[[Site], None]:
    return lambda site: change(_prop(site, name))


@operator
def class_removed(site: Site) -> Any:
    def change(copied: Site) -> None:
        drop(get(copied.files["manifest.yaml"][0], "Classes"), copied.name)

    used = sum(
        site.name.rpartition(".")[2] in yaml.serialize_all(t) for t in site.files.values() if isinstance(t, list)
    )
    if len(site.package.classes) > 1 and used < 3:  # in the manifest and in its own file
        yield MAJOR, "", change


@operator
def class_added(site: Site) -> Any:
    def change(copied: Site) -> None:
        put(get(copied.files["manifest.yaml"][0], "Classes"), "x.Added", "Added.yaml")
        copied.files["Classes/Added.yaml"] = [node("{Namespaces: {=: x}, Name: Added}")]

    if site.name == next(iter(site.package.classes)):
        yield MINOR, "/x.Added", change


@operator
def base_dropped(site: Site) -> Any:
    if scalar(site.tree, "Extends").endswith("Application"):
        yield MAJOR, "", lambda copied: drop(copied.tree, "Extends")


@operator
def became_a_meta_class(site: Site) -> Any:
    if not scalar(site.tree, "Usage") and not list(site.members("Methods")) and not get(site.tree, "Extends"):
        yield MAJOR, "", lambda copied: put(copied.tree, "Usage", "Meta")


@operator
def given_property_removed(site: Site) -> Any:
    for name, _ in _properties(site, *GIVEN):
        yield MAJOR, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)


@operator
def written_property_removed(site: Site) -> Any:
    for name, _ in _properties(site, "Out"):
        yield MAJOR, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)


@operator
def property_renamed(site: Site) -> Any:
    for name, _ in _properties(site, *GIVEN, "Out"):
        yield MAJOR, f".{name}", lambda copied, name=name: rename(get(copied.tree, "Properties"), name)


@operator
def needed_property_added(site: Site) -> Any:
    if get(site.tree, "Properties") is not None:
        text = "{Contract: $.string().notNull()}"
        yield MAJOR, ".added", lambda copied: put(get(copied.tree, "Properties"), "added", text)


@operator
def optional_property_added(site: Site) -> Any:
    if get(site.tree, "Properties") is not None:
        text = "{Contract: $.string().notNull(), Default: x}"
        yield MINOR, ".added", lambda copied: put(get(copied.tree, "Properties"), "added", text)


@operator
def property_made_const(site: Site) -> Any:
    for name, _ in _properties(site, "In"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Const"))


@operator
def property_made_written(site: Site) -> Any:
    for name, _ in _properties(site, "In", "Const"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Out"))


@operator
def property_made_internal(site: Site) -> Any:
    for name, _ in _properties(site, "Out"):
        yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "Runtime"))


@operator
def property_opened(site: Site) -> Any:
    for name, _ in _properties(site, "Const"):
        yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Usage", "In"))


@operator
def contract_takes_null_only(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if _plain(prop) and ".notNull()" not in scalar(prop, "Contract"):
            text = scalar(prop, "Contract") + ".check($ = null)"
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def contract_takes_no_null(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        text = scalar(prop, "Contract")
        if _plain(prop) and ".notNull()" not in text and "null" not in text:
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text + ".notNull()"))


@operator
def contract_takes_null(site: Site) -> Any:
    for name, prop in _properties(site, "In", "Const"):
        text = scalar(prop, "Contract")
        if ".notNull()" in text and "check" not in text:
            wide = text.replace(".notNull()", "")
            yield MINOR, f".{name}", _on(name, lambda prop, wide=wide: put(prop, "Contract", wide))


@operator
def contract_without_its_condition(site: Site) -> Any:
    for name, prop in _properties(site, "In", "Const"):
        text, _, condition = scalar(prop, "Contract").partition(".check(")
        if condition:
            yield MINOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def contract_of_another_kind(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN, "Out"):
        text = scalar(prop, "Contract")
        if text.startswith("$.string()") and "check" not in text:
            other = text.replace("$.string()", "$.int()")
            yield MAJOR, f".{name}", _on(name, lambda prop, other=other: put(prop, "Contract", other))


@operator
def readers_get_more(site: Site) -> Any:
    for name, prop in _properties(site, "Out"):
        if scalar(prop, "Contract") in ("$.string()", "$.int()"):
            yield MAJOR, f".{name}", _on(name, lambda prop: put(prop, "Contract", "$"))


@operator
def object_of_another_class(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if scalar(prop, "Contract").startswith("$.class("):
            text = "$.class('io.murano.StackTrace')"
            yield MAJOR, f".{name}", _on(name, lambda prop, text=text: put(prop, "Contract", text))


@operator
def default_of_what_is_needed_removed(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if get(prop, "Default") is not None and ".notNull()" in scalar(prop, "Contract"):
            yield MAJOR, f".{name}", _on(name, lambda prop: drop(prop, "Default"))


@operator
def default_changed(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN):
        if scalar(prop, "Default") and _plain(prop):
            yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Default", "'77'"))


@operator
def metadata_added(site: Site) -> Any:
    for name, prop in _properties(site, *GIVEN, "Out"):
        if get(prop, "Meta") is None:
            yield MINOR, f".{name}", _on(name, lambda prop: put(prop, "Meta", "{io.murano.metadata.Title: {text: x}}"))


@operator
def internal_property_removed(site: Site) -> Any:
    for name, _ in site.members("Properties"):
        if name.startswith("_"):
            yield PATCH, f".{name}", lambda copied, name=name: drop(get(copied.tree, "Properties"), name)


# -- methods -----------------------------------------------------------------------------------------------------------


def _methods(site: Site, *, called: bool) -> Iterator[tuple[str, Any]]:
    """Methods; ``called``: from outside."""
    for name, method in site.members("Methods"):
        public = scalar(method, "Scope") == "Public" or scalar(method, "Usage") in ("Action", "Static")
        life = name.startswith(("_", ".")) or name in ("initialize", "destroy")  # nobody calls these by name
        if not life and name not in site.inherited and public is called:
            yield name, method


def _to(name: str, change: Callable[[Any], None]) -> Callable[[Site], None]:
    return lambda site: change(get(get(site.tree, "Methods"), name))


def _arguments(method: Any) -> list[tuple[str, Any]]:
    found = get(method, "Arguments")
    if isinstance(found, yaml.MappingNode):
        return [(key.value, value) for key, value in found.value]
    if not isinstance(found, yaml.SequenceNode):
        return []
    return [(key.value, value) for item in found.value for key, value in item.value]


def _all_methods(site: Site) -> Iterator[tuple[str, Any]]:
    yield from _methods(site, called=True)
    yield from _methods(site, called=False)


def _by_caller(site: Site) -> Iterator[tuple[Level, str, Any]]:
    """Methods, with what a change of their arguments is: callers within a package move along."""
    yield from ((MAJOR, name, method) for name, method in _methods(site, called=True))
    yield from ((MINOR, name, method) for name, method in _methods(site, called=False))


@operator
def method_removed(site: Site) -> Any:
    for name, _ in _all_methods(site):
        yield MAJOR, f"::{name}", lambda copied, name=name: drop(get(copied.tree, "Methods"), name)


@operator
def method_renamed(site: Site) -> Any:
    for name, _ in _all_methods(site):
        yield MAJOR, f"::{name}", lambda copied, name=name: rename(get(copied.tree, "Methods"), name)


@operator
def method_closed(site: Site) -> Any:
    for name, method in _methods(site, called=True):
        if scalar(method, "Scope") == "Public":
            yield MAJOR, f"::{name}", _to(name, lambda method: drop(method, "Scope"))


@operator
def method_made_static(site: Site) -> Any:
    for name, method in _all_methods(site):
        if not scalar(method, "Usage") and name not in ("deploy", "initialize", "init"):
            yield MAJOR, f"::{name}", _to(name, lambda method: put(method, "Usage", "Static"))


@operator
def method_added(site: Site) -> Any:
    if get(site.tree, "Methods") is not None:
        text = "{Body: [{Return: 1}]}"
        yield MINOR, "::added", lambda copied: put(get(copied.tree, "Methods"), "added", text)


@operator
def argument_removed(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        for number, (argument, _) in enumerate(_arguments(method)):

            def change(method: Any, number: int = number) -> None:
                del get(method, "Arguments").value[number]

            yield level, f"::{name}({argument})", _to(name, change)


@operator
def argument_renamed(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        for number, (argument, _) in enumerate(_arguments(method)):

            def change(method: Any, number: int = number, argument: str = argument) -> None:
                found = get(method, "Arguments")
                rename(found if isinstance(found, yaml.MappingNode) else found.value[number], argument)

            yield level, f"::{name}({argument})", _to(name, change)


@operator
def arguments_swapped(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        found = _arguments(method)
        if len(found) > 1 and not any(scalar(value, "Usage") for _, value in found):
            yield level, f"::{name}({found[0][0]})", _to(name, lambda method: get(method, "Arguments").value.reverse())


def _append(text: str) -> Callable[[Any], None]:
    def change(method: Any) -> None:
        if get(method, "Arguments") is None:
            put(method, "Arguments", "[]")
        found = get(method, "Arguments")
        if isinstance(found, yaml.MappingNode):
            found.value.extend(node(text).value)
        else:
            found.value.append(node(text))

    return change


def _open(method: Any) -> bool:
    return any(scalar(value, "Usage") for _, value in _arguments(method))


@operator
def needed_argument_added(site: Site) -> Any:
    for level, name, method in _by_caller(site):
        if not _open(method):
            yield level, f"::{name}(added)", _to(name, _append("{added: {Contract: $.int().notNull()}}"))


@operator
def optional_argument_added(site: Site) -> Any:
    for name, method in _all_methods(site):
        if not _open(method):
            yield MINOR, f"::{name}(added)", _to(name, _append("{added: {Contract: $.int(), Default: 1}}"))


def _narrowed_arguments(site: Site, *, called: bool) -> Iterator[tuple[str, Any]]:
    """Where an argument of a method takes less, and the change that makes it so."""
    for name, method in _methods(site, called=called):
        for number, (argument, value) in enumerate(_arguments(method)):
            text = scalar(value, "Contract")
            if text.startswith(("$.string()", "$.int()")) and "check" not in text and not scalar(value, "Usage"):

                def change(method: Any, number: int = number, text: str = text) -> None:
                    put(_arguments(method)[number][1], "Contract", f"{text}.check($ = 7 or $ = '7')")

                yield f"::{name}({argument})", _to(name, change)


@operator
def argument_of_a_public_method_narrowed(site: Site) -> Any:
    for place, change in _narrowed_arguments(site, called=True):
        yield MAJOR, place, change


@operator
def argument_of_a_session_method_narrowed(site: Site) -> Any:
    for place, change in _narrowed_arguments(site, called=False):
        yield MINOR, place, change


@operator
def body_changed(site: Site) -> Any:
    for name, method in _all_methods(site):
        if get(method, "Body") is not None:
            yield PATCH, f"::{name}", _to(name, lambda method: put(method, "Body", "[{Return: 1}]"))


@operator
def internal_method_removed(site: Site) -> Any:
    for name, _ in site.members("Methods"):
        if name.startswith("_"):
            yield PATCH, f"::{name}", lambda copied, name=name: drop(get(copied.tree, "Methods"), name)


# -- packages ----------------------------------------------------------------------------------------------------------


def _once(site: Site) -> bool:
    return site.name == next(iter(site.package.classes))


@operator
def type_changed(site: Site) -> Any:
    def change(copied: Site) -> None:
        manifest = copied.files["manifest.yaml"][0]
        put(manifest, "Type", "Library" if scalar(manifest, "Type") == "Application" else "Application")

    if _once(site):
        yield MAJOR, "/package", change


@operator
def requirement_added(site: Site) -> Any:
    if _once(site):
        yield (
            MINOR,
            "/package",
            lambda copied: put(copied.files["manifest.yaml"][0], "Require", "{io.murano.applications: '>=0'}"),
        )


@operator
def resource_changed(site: Site) -> Any:
    if _once(site):
        yield PATCH, "/package", lambda copied: copied.files.update({"Resources/new.txt": b"x"})
