"""Functions of templates that make text and collections."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from vetro.clouds.stacks.templates.functions import FunctionError, Literal, Scope, pair, resolve, text_of

_DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
#: What an item of a list costs of the meter besides its text.
_ITEM = 16


def _items(value: Any, name: str, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FunctionError(f"{what} of {name} must be a list, not {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "a boolean", int: "a number", float: "a number", str: "text"}
    return names.get(type(value), "a mapping" if isinstance(value, dict) else "a list")


def _replacer(name: str, *, required: bool, filled: bool) -> Any:
    def str_replace(argument: Any, scope: Scope) -> Any:
        """Replaces all keys of ``params`` in ``template`` at once, the longest first; replacements are final."""
        if not isinstance(argument, dict) or set(argument) != {"template", "params"}:
            raise FunctionError(f"{name} is written as {name}: {{template: text, params: {{what: by what}}}}")
        template, params = resolve(argument["template"], scope), resolve(argument["params"], scope)
        if not isinstance(params, dict):
            raise FunctionError(f"params of {name} must be a mapping, not {_kind(params)}")
        if not isinstance(template, str):
            raise FunctionError(f"template of {name} must be text, not {_kind(template)}")
        texts = {key: text_of(value) for key, value in params.items() if key}
        if filled and (empty := sorted(key for key, text in texts.items() if not text)):
            raise FunctionError(f"{name}: nothing is given for {', '.join(empty)}")
        if required and (missing := sorted(key for key in texts if key not in template)):
            raise FunctionError(f"{name}: the template does not contain {', '.join(missing)}")
        return substitute(template, texts, scope, name)

    return str_replace


def substitute(template: str, texts: dict[str, str], scope: Scope, name: str) -> str:
    """Replaces keys by texts in one go. What it produces is counted before it is made."""
    if not texts or not template:
        return template
    # The work of the search grows with both; both come from whoever wrote the template.
    scope.meter.spend(len(template) * (1 + sum(map(len, texts)) // 64), name)
    search = re.compile("|".join(re.escape(key) for key in sorted(texts, key=len, reverse=True)))
    pieces: list[str] = []
    last = 0
    for found in search.finditer(template):
        text = texts[found.group()]
        scope.meter.spend(len(text), name)
        pieces += (template[last : found.start()], text)
        last = found.end()
    pieces.append(template[last:])
    return "".join(pieces)


str_replace = _replacer("str_replace", required=False, filled=False)
str_replace_strict = _replacer("str_replace_strict", required=True, filled=False)
str_replace_vstrict = _replacer("str_replace_vstrict", required=True, filled=True)


def list_join(argument: Any, scope: Scope) -> str:
    """``list_join: [delimiter, list, list, ...]``."""
    items = pair(argument, "list_join", "[delimiter, list, ...]", most=1000)
    delimiter = resolve(items[0], scope)
    if not isinstance(delimiter, str):
        raise FunctionError(f"the delimiter of list_join must be text, not {_kind(delimiter)}")
    joined: list[str] = []
    for item in items[1:]:
        value = resolve(item, scope)
        joined += [text_of(part) for part in ([] if value is None else _items(value, "list_join", "each argument"))]
    scope.meter.spend(sum(map(len, joined)) + len(delimiter) * len(joined), "list_join")
    return delimiter.join(joined)


def str_split(argument: Any, scope: Scope) -> Any:
    """``str_split: [delimiter, text]`` or ``[delimiter, text, index]``."""
    items = [resolve(i, scope) for i in pair(argument, "str_split", "[delimiter, text, index]", most=3)]
    if items[1] is None:
        return None
    if not isinstance(items[0], str) or not items[0] or not isinstance(items[1], str):
        raise FunctionError("str_split needs a delimiter that is not empty and a text")
    scope.meter.spend(items[1].count(items[0]) * _ITEM, "str_split")
    parts = items[1].split(items[0])
    if len(items) == 2:
        return parts
    try:
        return parts[int(items[2])]
    except (TypeError, ValueError, IndexError):
        raise FunctionError(f"str_split has {len(parts)} parts and none with the index {items[2]!r}") from None


def repeat(argument: Any, scope: Scope) -> list[Any]:
    """``repeat: {for_each: {var: list}, template: ..., permutations: true}``: one item for each combination."""
    if not isinstance(argument, dict) or not {"for_each", "template"} <= set(argument) <= {
        "for_each",
        "template",
        "permutations",
    }:
        raise FunctionError("repeat is written as repeat: {for_each: {var: list}, template: ..., permutations: true}")
    loops = resolve(argument["for_each"], scope)
    if not isinstance(loops, dict) or not loops:
        raise FunctionError("for_each of repeat must be a mapping of variables to lists")
    nested = resolve(argument.get("permutations", True), scope)
    if not isinstance(nested, bool):
        raise FunctionError("permutations of repeat must be true or false")
    lists = [
        list(value) if isinstance(value, dict) else _items([] if value is None else value, "repeat", f"'{name}'")
        for name, value in loops.items()
    ]
    if not nested and len({len(values) for values in lists}) > 1:
        raise FunctionError("lists of repeat must have the same length when permutations is false")
    count = 1
    for values in lists:
        count *= len(values)
    scope.meter.spend((count if nested else len(lists[0])) * _ITEM, "repeat")
    rounds: Iterable[tuple[Any, ...]] = itertools.product(*lists) if nested else zip(*lists)
    made = []
    for chosen in rounds:
        filled = _fill(argument["template"], dict(zip(loops, chosen)), scope)
        made.append(resolve(filled, scope))
    return made


def _fill(template: Any, values: dict[str, Any], scope: Scope) -> Any:
    """The template with loop variables replaced; one that stands alone keeps the type of its value."""
    if isinstance(template, str):
        if template in values and not isinstance(values[template], str):
            return Literal(values[template])
        return substitute(template, {key: text_of(value) for key, value in values.items()}, scope, "repeat")
    scope.meter.spend(_ITEM, "repeat")
    if isinstance(template, dict):
        return {text_of(resolve(_fill(k, values, scope), scope)): _fill(v, values, scope) for k, v in template.items()}
    if isinstance(template, list):
        return [_fill(item, values, scope) for item in template]
    return template


def digest(argument: Any, scope: Scope) -> str:
    """``digest: [algorithm, text]``: hexadecimal."""
    algorithm, value = (resolve(item, scope) for item in pair(argument, "digest", "[algorithm, text]"))
    if algorithm not in _DIGESTS:
        raise FunctionError(f"digest knows {', '.join(_DIGESTS)}, not {algorithm!r}")
    if not isinstance(value, str):
        raise FunctionError(f"digest needs text, not {_kind(value)}")
    return hashlib.new(algorithm, value.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def map_merge(argument: Any, scope: Scope) -> dict[str, Any]:
    """``map_merge: [map, map, ...]``: later ones win; null ones are left out."""
    made: dict[str, Any] = {}
    for item in _items(resolve(argument, scope), "map_merge", "the argument"):
        if item is None:
            continue
        if not isinstance(item, dict):
            raise FunctionError(f"map_merge needs mappings, not {_kind(item)}")
        made.update(item)
    return made


def map_replace(argument: Any, scope: Scope) -> dict[str, Any]:
    """``map_replace: [map, {keys: {old: new}, values: {old: new}}]``."""
    form = "[map, {keys: {old: new}, values: {old: new}}]"
    source, changes = (resolve(item, scope) for item in pair(argument, "map_replace", form))
    if not isinstance(source, dict) or not isinstance(changes, dict) or not set(changes) <= {"keys", "values"}:
        raise FunctionError(f"map_replace is written as map_replace: {form}")
    keys, values = changes.get("keys") or {}, changes.get("values") or {}
    if not isinstance(keys, dict) or not isinstance(values, dict):
        raise FunctionError(f"map_replace is written as map_replace: {form}")
    made: dict[str, Any] = {}
    for key, value in source.items():
        new = text_of(keys.get(key, key))
        if new in made or (new != key and new in source):
            raise FunctionError(f"map_replace: the key '{new}' would be there twice")
        fresh = value if isinstance(value, (dict, list)) else values.get(text_of(value), value)
        made[new] = fresh
    return made


def list_concat(argument: Any, scope: Scope) -> list[Any]:
    """``list_concat: [list, list, ...]``; null ones are left out."""
    made: list[Any] = []
    for item in _items(resolve(argument, scope), "list_concat", "the argument"):
        if item is not None:
            made += _items(item, "list_concat", "each argument")
            scope.meter.spend(len(item) * _ITEM, "list_concat")
    return made


def list_concat_unique(argument: Any, scope: Scope) -> list[Any]:
    """As list_concat, each item once."""
    seen: set[str] = set()
    made = []
    for item in list_concat(argument, scope):
        mark = f"{type(item).__name__} {text_of(item)}"
        if mark not in seen:
            seen.add(mark)
            made.append(item)
    return made


def contains(argument: Any, scope: Scope) -> bool:
    """``contains: [item, list or text]``."""
    item, sequence = (resolve(part, scope) for part in pair(argument, "contains", "[item, list or text]"))
    if isinstance(sequence, str):
        return isinstance(item, str) and item in sequence
    return item in _items(sequence, "contains", "the second item")


def remove(argument: Any, scope: Scope) -> list[Any]:
    """``filter: [values, list]``: the list without these values."""
    values, sequence = (resolve(part, scope) for part in pair(argument, "filter", "[values, list]"))
    unwanted = _items(values, "filter", "the first item")
    scope.meter.spend(len(unwanted) * len(_items(sequence, "filter", "the second item")) // 8, "filter")
    return [item for item in sequence if item not in unwanted]


def make_url(argument: Any, scope: Scope) -> str:
    """``make_url: {scheme, host, port, path, query, fragment, username, password}``."""
    parts = resolve(argument, scope)
    known = {"scheme", "username", "password", "host", "port", "path", "query", "fragment"}
    if not isinstance(parts, dict) or not set(parts) <= known:
        raise FunctionError(f"make_url takes a mapping with keys of {', '.join(sorted(known))}")
    host = text_of(parts.get("host"))
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    user = quote(text_of(parts.get("username")), safe="")
    if parts.get("password") is not None:
        user += ":" + quote(text_of(parts["password"]), safe="")
    url = f"{parts['scheme']}:" if parts.get("scheme") else ""
    if host:
        url += "//" + (user + "@" if user else "") + host
        url += f":{parts['port']}" if parts.get("port") not in (None, "") else ""
    path = quote(text_of(parts.get("path")), safe="/%")
    url += ("/" if path and host and not path.startswith("/") else "") + path
    if parts.get("query"):
        if not isinstance(parts["query"], dict):
            raise FunctionError("query of make_url must be a mapping")
        url += "?" + urlencode({key: text_of(value) for key, value in sorted(parts["query"].items())})
    return url + ("#" + quote(text_of(parts["fragment"])) if parts.get("fragment") else "")
