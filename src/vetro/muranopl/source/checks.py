"""What composed YAML is refused for: aliases that explode, unknown tags, repeated keys. Merge keys are resolved here.

All walks use explicit stacks and visit a shared node once.
"""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.muranopl.errors import SourceError
from vetro.muranopl.source.nodes import MAX_DEPTH, MAX_NODES, PLAIN, STANDARD, TEXT, YAQL, Warn, YNode, position
from vetro.muranopl.source.scalars import plain_value

_SCALAR_TAGS = frozenset(
    {PLAIN, TEXT, YAQL, *(STANDARD + name for name in ("str", "int", "float", "bool", "null", "timestamp"))}
)
_TYPED_WORDS = frozenset(
    form
    for word in ("yes", "no", "true", "false", "on", "off", "null", "~")
    for form in (word, word.title(), word.upper())
)


def check_aliases(documents: list[YNode], file: str) -> None:
    """Refuses nodes that contain themselves, and too many nodes counted with every alias expanded."""
    sizes: dict[int, int] = {}
    depths: dict[int, int] = {}
    for document in documents:
        stack: list[tuple[Any, bool]] = [(document, False)]
        active: set[int] = set()
        while stack:
            node, leaving = stack.pop()
            if node.__class__ is ScalarNode:
                continue
            if leaving:
                active.discard(id(node))
                children = _children(node)
                sizes[id(node)] = size = 1 + sum(sizes.get(id(child), 1) for child in children)
                depths[id(node)] = depth = 1 + max((depths.get(id(child), 1) for child in children), default=0)
                if depth > MAX_DEPTH:
                    raise SourceError(
                        Text("aliases nest deeper than {max_depth} levels", max_depth=MAX_DEPTH),
                        position=position(node, file),
                        hint=Text("write the values out, or compute them in a method"),
                    )
                if size > MAX_NODES:
                    raise SourceError(
                        Text("aliases expand to more than {max_nodes} nodes", max_nodes=MAX_NODES),
                        position=position(node, file),
                        hint=Text("write the values out, or compute them in a method"),
                    )
                continue
            if id(node) in active:
                raise SourceError(
                    Text("a value contains itself through an alias"),
                    position=position(node, file),
                    hint=Text("package data has an end; write the values out"),
                )
            if id(node) in sizes:
                continue
            active.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in _children(node))


def _children(node: Any) -> list[Any]:
    if node.__class__ is MappingNode:
        return [part for pair in node.value for part in pair]
    return list(node.value)


def check(document: YNode, file: str, allow_duplicates: bool, warn: Warn | None) -> None:
    """Checks tags and keys of every node once; resolves merge keys in place."""
    seen: set[int] = set()
    stack: list[Any] = [document]
    while stack:
        node = stack.pop()
        cls = node.__class__
        if cls is ScalarNode:
            tag = node.tag
            if tag is not PLAIN and tag is not TEXT:
                _check_scalar_tag(node, file)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.tag is not TEXT:
            _check_collection_tag(node, cls is MappingNode, file)
        if cls is MappingNode:
            pairs = node.value
            keys = set()
            for key, value in pairs:
                # Scalars with our own two tags need no visit: that is nearly every node of a file.
                if key.__class__ is ScalarNode:
                    keys.add(key.value)
                    if key.tag is not PLAIN and key.tag is not TEXT:
                        _check_scalar_tag(key, file)
                else:
                    keys.add("")  # an empty key is looked at closely
                    stack.append(key)
                if value.__class__ is not ScalarNode or (value.tag is not PLAIN and value.tag is not TEXT):
                    stack.append(value)
            if "<<" in keys:
                stack.extend(_merge(node, file))
            # Keys that differ as text can be equal only when YAML types them: digits, signs and a few words.
            if len(pairs) > 1 and (len(keys) != len(pairs) or min(keys) < ":" or not keys.isdisjoint(_TYPED_WORDS)):
                _check_keys(node, file, allow_duplicates, warn)
        else:
            stack.extend(
                item
                for item in node.value
                if item.__class__ is not ScalarNode or (item.tag is not PLAIN and item.tag is not TEXT)
            )


def _check_scalar_tag(node: ScalarNode, file: str) -> None:
    tag = node.tag
    if tag in _SCALAR_TAGS:
        return
    raise _unknown_tag(node, file)


def _check_collection_tag(node: Node, mapping: bool, file: str) -> None:
    if node.tag == STANDARD + ("map" if mapping else "seq"):
        return
    if node.tag == YAQL:
        raise SourceError(
            Text("!yaql stands before a list or mapping"),
            position=position(node, file),
            hint=Text('the tag marks text as an expression: !yaql "..."'),
        )
    raise _unknown_tag(node, file)


def _unknown_tag(node: Node, file: str) -> SourceError:
    tag = node.tag.replace(STANDARD, "!!")
    return SourceError(
        Text("unknown tag {tag}", tag=tag),
        position=position(node, file),
        hint=Text("the only tag package files may use is !yaql; quote text that begins with !"),
    )


def _merge(node: MappingNode, file: str) -> list[Any]:
    """Resolves ``<<`` keys: own keys win, then earlier mappings of a list. Gives the added nodes' parents to visit."""
    own: list[tuple[Any, Any]] = []
    sources: list[MappingNode] = []
    for key, value in node.value:
        if key.__class__ is not ScalarNode or key.tag is not PLAIN or key.value != "<<":
            own.append((key, value))
            continue
        for item in value.value if value.__class__ is SequenceNode else [value]:
            if item.__class__ is not MappingNode:
                raise SourceError(
                    Text("'<<' needs a mapping or a list of mappings"),
                    position=position(value, file),
                    hint=Text("quote '<<' for text"),
                )
            sources.append(item)
    if not sources:
        return []
    known = {_key_identity(key) for key, _ in own}
    added: list[tuple[Any, Any]] = []
    for source in sources:
        if any(k.__class__ is ScalarNode and k.tag is PLAIN and k.value == "<<" for k, _ in source.value):
            _merge(source, file)
        for key, value in source.value:
            identity = _key_identity(key)
            if identity not in known:
                known.add(identity)
                added.append((key, value))
    node.value = added + own
    return [*sources, *(v for _, v in added if v.__class__ is not ScalarNode)]


def _key_identity(key: Any) -> Any:
    return (key.tag is PLAIN, key.value) if key.__class__ is ScalarNode else id(key)


def _check_keys(node: MappingNode, file: str, allow: bool, warn: Warn | None) -> None:
    """Finds repeated keys. Expressions count only where repeating is an error: evaluated, the last wins anyway."""
    first: dict[Any, int] = {}
    pairs: list[tuple[Any, Any]] = []
    for key, value in node.value:
        if key.__class__ is not ScalarNode:
            pairs.append((key, value))
            continue
        identity: Any = (str, key.value)
        if key.tag is PLAIN:
            typed = plain_value(key.value)
            # Plain, '$' makes an expression; quoted, the same characters are a text of their own.
            identity = (PLAIN if typed.__class__ is str and "$" in typed else typed.__class__, typed)
        if identity not in first:
            first[identity] = len(pairs)
            pairs.append((key, value))
            continue
        error = SourceError(
            Text("key '{value}' is written twice", value=key.value),
            position=position(key, file),
            hint=Text(
                "remove one; the other stands in line {line}", line=pairs[first[identity]][0].start_mark.line + 1
            ),
        )
        if not allow:
            raise error
        if key.value.startswith("$") and key.tag is PLAIN:
            pairs.append((key, value))
            continue
        if warn is not None:
            warn(error)
        pairs[first[identity]] = (pairs[first[identity]][0], value)
    node.value = pairs
