"""`implicit_tag`: YAML's own typing of scalars, for readers that need nothing else of the language."""

from __future__ import annotations

from yaml.resolver import Resolver

_RESOLVERS = Resolver.yaml_implicit_resolvers


def implicit_tag(text: str) -> str | None:
    """The tag YAML 1.1 gives a plain scalar for its looks; None for text."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return str(tag)
    return None
