"""The table from which the recording driver answers: what scripts, servers and configurations would have done.

As data (a YAML or JSON file)::

    plans:
      - plan: "Deploy *"        # the plan's Name; all patterns have to fit, the first such rule counts
        script: "/apt-get .*nginx/"  # any text of the plan's files
        server: "web-*"
        times: 1                # only for the first plan that fits
        exitCode: 3             # of all scripts of the plan
        stdout: hello
        stderr: ""
        body: {any: value}      # the plan's result, instead of what follows from its Body
        failure: text           # or {message, code, info}: the agent answers with an error
        delay: 0.5              # seconds until the answer
        never: true             # no answer at all
    servers:
      - server: "db*"
        failure: no host has room for it   # the server does not come up
        delay: 2                # seconds until its agent is there
        createDelay: 1          # seconds that making it takes
        console: text
    configs:                    # software deployments
      - name: "setup*"
        server: "*"
        config: "*"
        exitCode: 0
        stdout: text
        stderr: text
        delay: 0
    signals:                    # of wait handles, by the handle's id
      - handle: "*"
        failure: text
        never: true
        data: any

A pattern is a glob over the whole text, or a regular expression between slashes that is searched for.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from vetro.clouds.interface import CloudError
from vetro.data_classes import dataclass
from vetro.yaql.didyoumean import suggest


class TableInvalid(CloudError):
    """A table of the recording driver cannot be understood; the message says where and how to mend it."""

    kind = "bad-argument"
    code = "CLD135"


_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "plans": ("plan", "script", "server"),
    "servers": ("server",),
    "configs": ("name", "server", "config"),
    "signals": ("handle",),
}
_EFFECTS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "plans": {
        "times": (int,),
        "exitCode": (int,),
        "stdout": (str,),
        "stderr": (str,),
        "body": (object,),
        "failure": (str, dict),
        "delay": (int, float),
        "never": (bool,),
    },
    "servers": {
        "times": (int,),
        "failure": (str,),
        "delay": (int, float),
        "createDelay": (int, float),
        "console": (str,),
    },
    "configs": {
        "times": (int,),
        "exitCode": (int,),
        "stdout": (str,),
        "stderr": (str,),
        "delay": (int, float),
        "failure": (str,),
    },
    "signals": {"failure": (str,), "never": (bool,), "data": (object,)},
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: patterns and what then happens."""

    #: Where it stands: ``plans[0]``.
    where: str
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    effects: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, texts: Mapping[str, Sequence[str]]) -> bool:
        """Whether every pattern fits one of the texts of its name."""
        return all(any(pattern.search(text) for text in texts[name]) for name, pattern in self.patterns.items())


@dataclass(frozen=True, slots=True)
class Table:
    """All rules; without any, everything succeeds with empty output."""

    rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Any) -> Table:
        """The table of plain data. Raises `TableInvalid`."""
        if data is None:
            return cls()
        if not isinstance(data, Mapping):
            raise TableInvalid(f"the table must be a mapping with {', '.join(_PATTERNS)}")
        rules = {}
        for section, rows in data.items():
            if section not in _PATTERNS:
                raise TableInvalid(f"the table has no section '{section}'{_hint(section, _PATTERNS)}")
            if not isinstance(rows, list):
                raise TableInvalid(f"'{section}' of the table must be a list of rules")
            rules[section] = tuple(_rule(section, place, row) for place, row in enumerate(rows))
        return cls(rules)

    @classmethod
    def read(cls, path: Path | str) -> Table:
        """The table of a YAML or JSON file. Raises `TableInvalid`."""
        try:
            return cls.from_json(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise TableInvalid(f"{path}: {error}") from None
        except TableInvalid as error:
            raise TableInvalid(f"{path}: {error}") from None

    def delays(self, section: str) -> bool:
        """Whether a rule of a section makes its caller wait."""
        return any(rule.effects.keys() & {"delay", "createDelay"} for rule in self.rules.get(section, ()))

    def fitting(self, section: str, texts: Mapping[str, Sequence[str]]) -> Iterable[Rule]:
        """The rules of a section that fit, in their order."""
        return (rule for rule in self.rules.get(section, ()) if rule.fits(texts))


def _hint(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = suggest(name, known)
    return f", did you mean '{close}'?" if close else f"; there are {', '.join(known)}"


def _rule(section: str, place: int, row: Any) -> Rule:
    where = f"{section}[{place}]"
    if not isinstance(row, Mapping):
        raise TableInvalid(f"{where} must be a mapping")
    patterns, effects = {}, {}
    for key, value in row.items():
        if key in _PATTERNS[section]:
            patterns[key] = _pattern(f"{where}.{key}", value)
        elif key in _EFFECTS[section]:
            kinds = _EFFECTS[section][key]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
                words = " or ".join(kind.__name__ for kind in kinds)
                raise TableInvalid(f"{where}.{key} must be {words}, not {value!r}")
            effects[key] = value
        else:
            raise TableInvalid(
                f"{where} has an unknown key '{key}'{_hint(str(key), [*_PATTERNS[section], *_EFFECTS[section]])}"
            )
    return Rule(where, patterns, effects)


def _pattern(where: str, value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise TableInvalid(f"{where} must be a pattern: a glob, or a regular expression between slashes")
    if len(value) > 1 and value[0] == value[-1] == "/":
        try:
            return re.compile(value[1:-1])
        except re.error as error:
            raise TableInvalid(f"{where}: {value} is no regular expression: {error}") from None
    return re.compile(r"\A" + fnmatch.translate(value))
