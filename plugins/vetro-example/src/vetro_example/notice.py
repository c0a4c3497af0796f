"""The package format Example.Notice: a few lines of text that are reported when they are deployed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from vetro.packages.errors import PackageError
from vetro.packages.plugin import PackageBase

NOTICE = "notice.yaml"


class NoticePackage(PackageBase):
    """One class, made from ``notice.yaml``. Raises `PackageError` for a notice that is malformed."""

    def __init__(
        self, format_name: str, runtime_version: Any, source_directory: str, manifest: Mapping[str, Any]
    ) -> None:
        super().__init__(format_name, runtime_version, source_directory, manifest)
        self._notice_file = os.path.join(source_directory, NOTICE)
        try:
            with open(self._notice_file, encoding="utf-8") as file:
                notice = yaml.safe_load(file)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise PackageError(f"{NOTICE} cannot be read: {error}") from None
        if not isinstance(notice, dict) or not isinstance(notice.get("lines"), list):
            raise PackageError(f"{NOTICE} is malformed", hint="it needs a title and a list of lines")
        self._title = str(notice.get("title") or self.full_name)
        self._lines = [str(line) for line in notice["lines"]]

    @property
    def classes(self) -> Sequence[str]:
        return [self.full_name]

    def get_class(self, name: str) -> str:
        reports = [{"Return": self._lines}]
        made = {
            "Name": name,
            "Extends": "io.murano.Application",
            "Properties": {
                "name": {"Contract": _expression("$.string().notNull()")},
                "shown": {"Contract": [_expression("$.string()")], "Usage": "Out"},
            },
            "Methods": {
                "lines": {"Body": reports},
                "deploy": {
                    "Body": [
                        {_expression("$environment"): _expression("$.find('io.murano.Environment').require()")},
                        {
                            "For": "line",
                            "In": _expression("$.lines()"),
                            "Do": [_expression("$environment.reporter.report($this, $line)")],
                        },
                        {_expression("$.shown"): _expression("$.lines()")},
                    ]
                },
            },
        }
        return yaml.dump(made, Dumper=_Dumper, sort_keys=False, allow_unicode=True)

    @property
    def ui(self) -> str:
        form = {
            "Version": 2,
            "Application": {"?": {"type": self.full_name}, "name": _expression("$.notice.name")},
            "Forms": [{"notice": {"fields": [{"name": "name", "type": "string", "label": self._title}]}}],
        }
        return yaml.dump(form, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _expression(str):
    """Text that is an expression of the language."""


class _Dumper(yaml.SafeDumper):
    """Quotes texts, so that they stay texts, and tags expressions."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(str, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
_Dumper.add_representer(_expression, lambda d, text: d.represent_scalar("!yaql", str(text), style='"'))
