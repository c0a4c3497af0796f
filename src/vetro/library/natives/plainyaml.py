"""YAML resources as frozen data: safe, bounded, dates as text (CORE_LIBRARY.md, Resources)."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from vetro.muranopl.errors import SourceError
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.nodes import PLAIN, STANDARD, position
from vetro.muranopl.source.scalars import construct, plain_value
from vetro.yaql.values import FDict


def load_yaml(text: str, file: str) -> Any:
    """The first document of ``text``, null when there is none. Raises `SourceError` with a position."""
    documents = load_documents(text, file, allow_duplicate_keys=True)
    return _convert(documents[0], file) if documents else None


def _scalar(node: ScalarNode, file: str) -> Any:
    try:
        if node.tag == PLAIN:
            return plain_value(node.value)
        return construct(node.tag, node.value) if node.tag.startswith(STANDARD) else node.value
    except ValueError as error:
        raise SourceError(str(error), position=position(node, file)) from None


def _convert(node: Node, file: str) -> Any:
    # The source layer limits the nesting to 200 levels, so recursion is safe.
    if isinstance(node, MappingNode):
        return FDict((_convert(key, file), _convert(value, file)) for key, value in node.value)
    if isinstance(node, SequenceNode):
        return tuple(_convert(item, file) for item in node.value)
    assert isinstance(node, ScalarNode)
    return _scalar(node, file)
