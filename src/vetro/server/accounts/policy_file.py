"""Reads a policy file: JSON or YAML, ``"rule": "expression"``; every mistake is named with file and line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from oslo_policy import _checks, policy

from vetro.server.accounts.policy_rules import RULES
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

LARGEST = 1 << 20
#: Kinds of checks that other distributions bring. None decides here about rights; and looking for them reads every
#: distribution there is and loads an HTTP client, for a kind of check that is refused below.
_checks.extension_checks = {}


class PolicyError(VetroError):
    """A policy file cannot be read, or a rule in it means nothing."""

    kind = "bad-argument"
    code = "SRV540"
    hint = "'vetro config policy' prints the rules there are; docs/server.md explains expressions"


def read_policy(path: Path) -> dict[str, Any]:
    """The expressions of a file by rule. Raises `PolicyError`."""
    try:
        data = path.read_bytes()[: LARGEST + 1]
    except OSError as error:
        raise PolicyError(f"the policy file {path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise PolicyError(f"the policy file {path} is larger than {LARGEST >> 20} MiB")
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise PolicyError(f"{path}: is not UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"{mark.line + 1}" if mark is not None else "1"
        raise PolicyError(f"{path}:{line}: {getattr(error, 'problem', None) or error}") from None
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise PolicyError(f'{path}:1: must hold a mapping: "rule": "expression"')
    rules: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in rules:
            raise PolicyError(f"{path}:{line}: rule '{name}' stands there twice")
        rules[name] = _plain(value, path)
        lines[name] = line
    return checked(rules, lambda name: f"{path}:{lines[name]}")


def checked(rules: dict[str, Any], place: Callable[[str], str]) -> dict[str, Any]:
    """The rules, when each of them is one. ``place`` says where a rule stands. Raises `PolicyError`."""
    known = {*RULES, *rules}
    for name, expression in rules.items():
        trouble = _trouble(expression, known)
        if trouble:
            raise PolicyError(f"{place(name)}: rule '{name}': {trouble}")
    for name in rules:
        if _loops(name, rules):
            raise PolicyError(f"{place(name)}: rule '{name}' refers to itself")
    return rules


def unasked(rules: Mapping[str, Any]) -> dict[str, str]:
    """Rules of a file that no call of Vetro's and no other rule asks for -> the rule that was meant, perhaps, or ''.

    They are no mistake, since Murano had other ones; but a slip in a name leaves the default in force, unnoticed.
    """
    checks = [check for text in rules.values() for check in _walk(parsed(text))]
    asked = {*RULES, *(check.match for check in checks if isinstance(check, _checks.RuleCheck))}
    return {name: suggest(name, set(RULES)) or "" for name in rules if name not in asked}


def parsed(expression: Any) -> Any:
    """The check that an expression stands for. What oslo.policy logs about a broken one is ours to say."""
    log = logging.getLogger("oslo_policy")
    before, log.disabled = log.disabled, True
    inner = logging.getLogger("oslo_policy._parser")
    was, inner.disabled = inner.disabled, True
    try:
        return policy.Rules.from_dict({"rule": expression})["rule"]
    finally:
        log.disabled, inner.disabled = before, was


def _trouble(expression: Any, known: set[str]) -> str | None:
    if not isinstance(expression, (str, list)):
        return f"must be an expression, not {expression!r}"
    try:
        tree = parsed(expression)
    except Exception as error:
        return f"'{expression}' is no expression: {error}"
    refusals = sum(isinstance(check, _checks.FalseCheck) for check in _walk(tree))
    meant = str(expression).count("!")
    if refusals > meant:
        return f"'{expression}' is no expression"
    for check in _walk(tree):
        kind = getattr(check, "kind", "")
        if kind in ("http", "https"):
            return "asks another server; rules are decided here"
        if isinstance(check, _checks.RuleCheck) and check.match not in known:
            close = suggest(check.match, known)
            return f"there is no rule '{check.match}'" + (f"; did you mean '{close}'?" if close else "")
    return None


def _loops(name: str, rules: Mapping[str, Any]) -> bool:
    """Whether following references from a rule leads back to it."""
    seen: set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        if current not in rules:
            continue
        for check in _walk(parsed(rules[current])):
            if isinstance(check, _checks.RuleCheck):
                if check.match == name:
                    return True
                if check.match not in seen:
                    seen.add(check.match)
                    todo.append(check.match)
    return False


def _walk(check: Any) -> Iterator[Any]:
    todo = [check]
    while todo:
        current = todo.pop()
        yield current
        todo.extend(getattr(current, "rules", ()))
        inner = getattr(current, "rule", None)
        if inner is not None:
            todo.append(inner)


def _plain(node: Any, path: Path) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.tag != "tag:yaml.org,2002:null" else ""
    if isinstance(node, yaml.SequenceNode):  # the old form: a list of lists, "or" of "and"
        return [_plain(item, path) for item in node.value]
    raise PolicyError(f"{path}:{node.start_mark.line + 1}: a rule is an expression, not a mapping")
