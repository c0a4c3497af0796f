"""The manifest of a package (PACKAGES 2): parsed with positions, every problem collected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

from vetro.data_classes import dataclass
from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.declarations.versions import Version, parse_spec, parse_version
from vetro.muranopl.errors import DeclarationError
from vetro.packages.errors import ManifestError
from vetro.packages.paths import inner_path
from vetro.packages.yamltree import Node, TreeError, plain, read_documents

MURANOPL = "MuranoPL"

_TEXTS = ("Format", "Type", "FullName", "Version", "Name", "Description", "Author", "Logo", "UI")
KNOWN_KEYS = frozenset((*_TEXTS, "Tags", "Classes", "Require", "Supplier", "Meta", "EntryPoint", "Template"))

_FULL_NAME = re.compile(r"\w+(?:\.\w+)*")
#: Extension packages are named like their distributions, which may have hyphens (PACKAGES 6).
_REQUIRED = re.compile(r"\w[\w-]*(?:\.\w[\w-]*)*")
_TYPES: dict[str, Literal["Application", "Library"]] = {"Application": "Application", "Library": "Library"}


class Format(NamedTuple):
    """What `Format` denotes (PACKAGES 3)."""

    name: str
    version: Version

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


def parse_format(text: str | None) -> Format:
    """`[Name/]Version`; no name is MuranoPL; absent or empty is MuranoPL/1.0.0.

    Raises `DeclarationError`.
    """
    name, slash, version = (text or "").strip().rpartition("/")
    if slash and not _FULL_NAME.fullmatch(name):
        raise DeclarationError(
            Text("'{text}' is no format", text=text), hint=Text("write Name/Version, for example MuranoPL/1.4")
        )
    try:
        return Format(name or MURANOPL, parse_version(version or "1.0.0"))
    except DeclarationError:
        hint = (
            Text("write it with a version: {version}/1.0", version=version)
            if version and not slash
            else Text("write Name/Version")
        )
        raise DeclarationError(
            Text("'{text}' is no format: '{version}' is no version", text=text, version=version), hint=hint
        ) from None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest. Keys that are absent have the values that PACKAGES 2 gives them."""

    file: str
    format: Format
    type: Literal["Application", "Library"]
    full_name: str
    version: Version
    name: str
    description: str | None
    author: str | None
    tags: tuple[str, ...]
    #: Class name -> path below ``Classes``, cleaned.
    classes: Mapping[str, str]
    #: As written; null specs are ''.
    requirements: Mapping[str, str]
    #: None: ``logo.png``, if there is one. The same for the supplier's.
    logo: str | None
    supplier_logo: str | None
    supplier: Mapping[str, Any] | None
    #: Path below ``UI``; None: ``ui.yaml``, if there is one.
    ui: str | None
    meta: Any
    #: The whole manifest as plain data, for format plug-ins.
    raw: Mapping[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    #: Where the keys stand; dotted for entries of `Classes`, `Require` and `Supplier`.
    positions: Mapping[str, Position] = field(default_factory=dict)


def parse_manifest(text: str | bytes, file: str = "manifest.yaml") -> Manifest:
    """Reads and validates a manifest. Raises `ManifestError` with every problem that it has."""
    try:
        documents = read_documents(text, file)
        if not documents:
            raise TreeError(
                Text("the manifest is empty"), Position(file, 1, 1), Text("it needs at least FullName and Type")
            )
        if len(documents) > 1:
            raise TreeError(
                Text("the manifest has a second document"), documents[1].position, Text("remove the '---' before it")
            )
        if documents[0].pairs is None:
            raise TreeError(
                Text("the manifest is {describe}", describe=documents[0].describe()),
                documents[0].position,
                Text("it has to be a mapping of keys"),
            )
        return _Reader(file, documents[0]).read()
    except TreeError as error:
        raise ManifestError([Diagnostic("PKG110", ERROR, error.message, error.hint, error.position)]) from None


class _Reader:
    """Walks one manifest; what is wrong goes to ``problems`` and a stand-in value is used."""

    def __init__(self, file: str, root: Node) -> None:
        self.file = file
        self.root = root
        self.problems: list[Diagnostic] = []
        self.positions: dict[str, Position] = {}
        self.keys: dict[str, Node] = {}

    def read(self) -> Manifest:
        for key, value in self.root.pairs or ():
            if key.kind != "scalar":
                self.error(Text("{describe} cannot be a key", describe=key.describe()), key)
                continue
            if key.text in self.keys:
                self.warn(
                    Text("key '{text}' is there twice, the last one counts", text=key.text),
                    key,
                    Text("remove one"),
                    key.text,
                )
            self.keys[key.text] = value
            self.positions[key.text] = key.position
            if key.text not in KNOWN_KEYS:
                self.warn(Text("unknown key '{text}' is ignored", text=key.text), key, _suggest(key.text), key.text)
        form = self.format()
        full_name = self.full_name()
        supplier, supplier_logo = self.supplier()
        result = Manifest(
            file=self.file,
            format=form,
            type=self.type(),
            full_name=full_name,
            version=self.version(),
            name=self.text("Name") or full_name,
            description=self.text("Description"),
            author=self.text("Author"),
            tags=self.tags(),
            classes=self.classes(form.name == MURANOPL),
            requirements=self.requirements(),
            logo=self.path("Logo", self.keys.get("Logo")),
            supplier_logo=supplier_logo,
            supplier=supplier,
            ui=self.path("UI", self.keys.get("UI")),
            meta=self.meta(),
            raw={} if self.failed() else self.raw(),
            warnings=self.sorted(),
            positions=self.positions,
        )
        if self.failed():
            raise ManifestError(self.sorted())
        return result

    def failed(self) -> bool:
        return any(p.severity == "error" for p in self.problems)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.problems, key=lambda p: (p.place.line, p.place.column)))

    # -- findings -----------------------------------------------------------------------------------------------

    def error(self, message: str, node: Node | None, hint: str | None = None, key: str | None = None) -> None:
        position = node.position if node is not None else Position(self.file, 1, 1)
        self.problems.append(Diagnostic("PKG110", ERROR, message, hint, position, subject=key))

    def warn(self, message: str, node: Node, hint: str | None, key: str) -> None:
        self.problems.append(Diagnostic("PKG111", WARNING, message, hint, node.position, subject=key))

    # -- values -------------------------------------------------------------------------------------------------

    def plain(self, node: Node | None, otherwise: Any) -> Any:
        if node is None or node.null:
            return otherwise
        try:
            return plain(node)
        except TreeError as error:
            self.problems.append(Diagnostic("PKG110", ERROR, error.message, error.hint, error.position))
            return otherwise

    def scalar(self, key: str, node: Node | None) -> Node | None:
        """The node when it is a scalar that says something."""
        if node is None or node.null:
            return None
        if node.kind != "scalar":
            self.error(
                Text("{key} is {describe}", key=key, describe=node.describe()), node, Text("it has to be text"), key
            )
            return None
        return node

    def text(self, key: str) -> str | None:
        node = self.scalar(key, self.keys.get(key))
        return node.text if node is not None else None

    def path(self, key: str, node: Node | None) -> str | None:
        node = self.scalar(key, node)
        if node is None or not node.text:
            return None
        try:
            return inner_path(node.text)
        except ValueError as problem:
            self.error(
                Text(
                    "{key} '{text}' is no file of the package: {problem}", key=key, text=node.text[:80], problem=problem
                ),
                node,
                None,
                key,
            )
            return None

    def pairs(self, key: str, what: str) -> list[tuple[Node, Node]]:
        node = self.keys.get(key)
        if node is None or node.null or (node.items is not None and not node.items):
            return []
        if node.pairs is None:
            self.error(
                Text("{key} is {describe}", key=key, describe=node.describe()),
                node,
                Text("it has to be a mapping: {what}", what=what),
                key,
            )
            return []
        result: dict[str, tuple[Node, Node]] = {}
        for name, value in node.pairs:
            if name.kind != "scalar":
                self.error(
                    Text("{describe} cannot be a key of {key}", describe=name.describe(), key=key), name, None, key
                )
                continue
            dotted = f"{key}.{name.text}"
            if name.text in result:
                self.warn(
                    Text("'{text}' is there twice in {key}, the last one counts", text=name.text, key=key),
                    name,
                    Text("remove one"),
                    dotted,
                )
            self.positions[dotted] = name.position
            result[name.text] = (name, value)
        return list(result.values())

    def raw(self) -> dict[str, Any]:
        """Everything, with texts as written: ``Version: 1.10`` is no number."""
        data: dict[str, Any] = self.plain(self.root, {})
        for key in _TEXTS:
            node = self.keys.get(key)
            if node is not None and node.kind == "scalar":
                data[key] = None if node.null else node.text
        require = self.keys.get("Require")
        if require is not None and require.pairs is not None:
            data["Require"] = {
                name.text: None if spec.null else spec.text for name, spec in require.pairs if spec.kind == "scalar"
            }
        return data

    # -- keys ---------------------------------------------------------------------------------------------------

    def format(self) -> Format:
        node = self.scalar("Format", self.keys.get("Format"))
        try:
            return parse_format(node.text if node is not None else None)
        except DeclarationError as error:
            self.error(Text("Format {message}", message=error.message), node, error.hint, "Format")
            return parse_format(None)

    def type(self) -> Literal["Application", "Library"]:
        node = self.scalar("Type", self.keys.get("Type"))
        if node is None:
            if "Type" not in self.keys or self.keys["Type"].null:
                self.error(
                    Text("key 'Type' is missing"), None, Text("add 'Type: Application' or 'Type: Library'"), "Type"
                )
        elif node.text in _TYPES:
            return _TYPES[node.text]
        else:
            self.error(
                Text("unknown Type '{text}'", text=node.text), node, Text("write Application or Library"), "Type"
            )
        return "Library"

    def full_name(self) -> str:
        node = self.scalar("FullName", self.keys.get("FullName"))
        if node is None:
            if "FullName" not in self.keys or self.keys["FullName"].null:
                self.error(Text("key 'FullName' is missing"), None, Text("add the package's dotted name"), "FullName")
            return "unnamed"
        if not _FULL_NAME.fullmatch(node.text):
            hint = Text("write letters, digits, underscores and single dots between them, for example com.example.App")
            self.error(Text("FullName '{text}' is malformed", text=node.text), node, hint, "FullName")
        return node.text

    def version(self) -> Version:
        node = self.scalar("Version", self.keys.get("Version"))
        try:
            return parse_version(node.text if node is not None else None)
        except DeclarationError as error:
            self.error(Text("Version {message}", message=error.message), node, error.hint, "Version")
            return parse_version(None)

    def tags(self) -> tuple[str, ...]:
        node = self.keys.get("Tags")
        if node is None or node.null:
            return ()
        if node.kind == "scalar":
            self.warn(Text("Tags is one text, not a list"), node, Text("write [{text}]", text=node.text), "Tags")
            return (node.text,)
        if node.items is None:
            self.error(Text("Tags is a mapping"), node, Text("it has to be a list of texts"), "Tags")
            return ()
        tags = [self.scalar("an entry of Tags", item) for item in node.items]
        return tuple(tag.text for tag in tags if tag is not None)

    def classes(self, checked: bool) -> dict[str, str]:
        """Only MuranoPL gives the entries a meaning; plug-ins get them in ``raw``."""
        result: dict[str, str] = {}
        if not checked:
            return result
        for name, value in self.pairs("Classes", Text("class name -> file below Classes/")):
            if not _FULL_NAME.fullmatch(name.text):
                self.error(
                    Text("class name '{text}' is malformed", text=name.text),
                    name,
                    Text("write its full dotted name"),
                    "Classes",
                )
            if value.kind == "scalar" and (value.null or not value.text):
                self.error(
                    Text("class '{text}' has no file", text=name.text),
                    name,
                    Text("name its file below Classes/"),
                    "Classes",
                )
            path = self.path(f"Classes.{name.text}", value)
            if path is not None:
                result[name.text] = path
        return result

    def requirements(self) -> dict[str, str]:
        result: dict[str, str] = {}
        for name, value in self.pairs("Require", Text("package name -> version spec")):
            if not _REQUIRED.fullmatch(name.text):
                self.error(Text("package name '{text}' in Require is malformed", text=name.text), name, None, "Require")
            spec = self.scalar(f"Require.{name.text}", value)
            text = spec.text if spec is not None else ""
            try:
                parse_spec(text)
            except DeclarationError as error:
                self.error(error.message, value, error.hint, f"Require.{name.text}")
            else:
                result[name.text] = text
        return result

    def supplier(self) -> tuple[Mapping[str, Any] | None, str | None]:
        node = self.keys.get("Supplier")
        if node is None or node.null:
            return None, None
        if node.pairs is None:
            self.error(
                Text("Supplier is {describe}", describe=node.describe()),
                node,
                Text("it has to be a mapping: Name, Logo, Summary…"),
                "Supplier",
            )
            return None, None
        logo = next(
            (value for name, value in self.pairs("Supplier", Text("Name, Logo, Summary…")) if name.text == "Logo"), None
        )
        return self.plain(node, None), self.path("Supplier.Logo", logo)

    def meta(self) -> Any:
        node = self.keys.get("Meta")
        if node is not None and node.kind == "scalar" and not node.null and not node.text:
            return None
        return self.plain(node, None)


def _suggest(key: str) -> str | None:
    """Which known key a misspelt one may mean."""
    if key == "Requirements":
        return Text("did you mean 'Require'?")
    close = get_close_matches(key, sorted(KNOWN_KEYS), 1, 0.7)
    return Text("did you mean '{close}'?", close=close[0]) if close else None
