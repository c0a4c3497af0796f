"""Texts for people that look like expressions: `foo-bar`, `PHP - Zend`, `muranodashboard/js/x.js` (DYNAMIC_UI 2).

Where only text makes sense, what names no variable and cannot be evaluated is what it says.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from vetro.forms.dynamic.environment import Catalog, Cloud, Package, Surroundings
from vetro.forms.dynamic.errors import DynamicFormError
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import Expression, ListSnippet, MapSnippet, is_dynamic
from vetro.forms.dynamic.snippets import Reader
from vetro.yaql.environment import Env
from vetro.yaql.values import FDict


@cache
def nowhere() -> Surroundings:
    """Enough to evaluate an expression that reads nothing: no function of forms asks the cloud or the catalog."""
    return Surroundings(Package("", ""), cast(Cloud, None), cast(Catalog, None))


def trial(reader: Reader) -> Env:
    """A scope to try expressions in; all trials of one definition share its budget."""
    if reader.trial is None:
        reader.trial = Evaluation(nowhere(), may_encrypt=True).env(None)
    return reader.trial


def soften(snippet: Any, reader: Reader, attribute: str) -> Any:
    """``snippet`` with what can only be text turned into text; the author is warned."""
    if isinstance(snippet, Expression):
        if snippet.uses_data:
            return snippet
        try:
            snippet.evaluate(trial(reader))
        except DynamicFormError:
            reader.warn(
                f"'{snippet.short}' in {attribute} looks like an expression and is taken as text",
                snippet.position,
                "quote it",
                "DUI111",
            )
            return snippet.text
        return snippet
    if isinstance(snippet, ListSnippet):
        items = [soften(item, reader, attribute) for item in snippet.items]
        return ListSnippet(items, snippet.position) if any(map(is_dynamic, items)) else tuple(items)
    if isinstance(snippet, MapSnippet):
        pairs = [(soften(k, reader, attribute), soften(v, reader, attribute)) for k, v in snippet.pairs]
        if any(is_dynamic(side) for pair in pairs for side in pair):
            return MapSnippet(pairs, snippet.position)
        return FDict(pairs)
    return snippet
