"""The form of a HOT package."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.packages.hot.hotkit import NAME, Tagged, package, parameter
from vetro.packages.package import LoadedPackage


def form(loaded: LoadedPackage) -> Any:
    assert loaded.ui is not None
    return yaml.load(loaded.ui, Tagged)


def test_the_form_asks_for_the_parameters_by_group() -> None:
    help_text = "Enter a desired name for the application. Just A-Z, a-z, 0-9, and dash are allowed"
    assert form(package()) == {
        "Version": 2,
        "Application": {
            "?": {"type": NAME, "package": NAME, "classVersion": "1.2.0"},
            "name": "yaql: $.group0.name",
            "templateParameters": {
                "db_name": "yaql: $.group1.db_name",
                "count": "yaql: $.group1.count",
                "size": "yaql: $.group2.size",
            },
        },
        "Forms": [
            {
                "group0": {
                    "fields": [
                        {
                            "name": "title",
                            "type": "string",
                            "required": False,
                            "hidden": True,
                            "description": "A stack",
                        },
                        {
                            "name": "name",
                            "type": "string",
                            "label": "Application Name",
                            "required": True,
                            "description": help_text,
                        },
                    ]
                }
            },
            {
                "group1": {
                    "fields": [
                        {
                            "name": "db_name",
                            "label": "Db Name",
                            "type": "string",
                            "initial": "wordpress",
                            "required": False,
                            "minLength": 1,
                            "maxLength": 16,
                            "validators": [
                                {
                                    "expr": {"regexpValidator": "[a-zA-Z][a-zA-Z0-9]*"},
                                    "message": "must begin with a letter",
                                }
                            ],
                        },
                        {
                            "name": "count",
                            "label": "Count",
                            "type": "integer",
                            "description": "How many",
                            "required": True,
                            "validators": [{"expr": "yaql: $ >= 1 and $ <= 4", "message": "1 to 4"}],
                        },
                    ]
                }
            },
            {
                "group2": {
                    "fields": [
                        {
                            "name": "size",
                            "label": "The size",
                            "type": "string",
                            "required": True,
                            "validators": [{"expr": "yaql: $ in list('s', 'l')"}],
                        }
                    ]
                }
            },
        ],
    }


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("type: number, default: '5'", {"type": "integer", "initial": 5, "required": False}),
        ("type: boolean, default: off", {"type": "boolean", "initial": False, "required": False}),
        ("type: string, default: 010", {"type": "string", "initial": "010", "required": False}),
        ("type: comma_delimited_list, default: [a, 1]", {"type": "string", "initial": "a,1", "required": False}),
        ("type: json, default: {a: [1]}", {"type": "string", "initial": '{"a": [1]}', "required": False}),
        ("type: string, default: null", {"type": "string", "required": True}),
        ("type: string, default: ''", {"type": "string", "initial": "", "required": False}),
    ],
)
def test_defaults_are_offered(text: str, field: dict[str, Any]) -> None:
    made = form(package(parameter(text)))["Forms"][1]["group1"]["fields"]
    assert made == [{"name": "p", "label": "P", **field}]


def test_parameters_with_odd_names_are_reached() -> None:
    made = form(
        package("resources: {}\nparameters: {a-b: {type: string}, in: {type: string}, 'x''y': {type: string}}\n")
    )
    assert made["Application"]["templateParameters"] == {
        "a-b": "yaql: $.group1.get('a-b')",
        "in": "yaql: $.group1.get('in')",
        "x'y": "yaql: $.group1.get('x\\'y')",
    }


def test_without_parameters_only_the_name_is_asked_for() -> None:
    made = form(package("resources: {}", "Format: Heat.HOT/1.0\nType: Application\nFullName: a.B\n"))
    assert [list(f) for f in made["Forms"]] == [["group0"]]
    assert "description" not in made["Forms"][0]["group0"]["fields"][0]
