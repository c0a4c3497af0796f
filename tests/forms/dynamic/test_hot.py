"""Forms of HOT packages are definitions that our own package format makes (DYNAMIC_UI 9)."""

from __future__ import annotations

from pathlib import Path

from tests.forms.dynamic.making import Session
from vetro.forms.dynamic import check
from vetro.packages.load import load_path

MANIFEST = """Format: Heat.HOT/1.0
Type: Application
FullName: com.example.Stack
Name: Stack
Description: A stack
"""
TEMPLATE = """heat_template_version: 2013-05-23
parameter_groups:
  - parameters: [db_name, count]
parameters:
  db_name:
    type: string
    default: wordpress
    constraints:
      - length: {min: 1, max: 16}
      - allowed_pattern: '[a-zA-Z][a-zA-Z0-9]*'
        description: must begin with a letter
  count:
    type: number
    constraints: [{range: {min: 1, max: 4}, description: 1 to 4}]
  flag: {type: boolean, default: true}
  odd-name: {type: string, constraints: [{allowed_values: [s, l]}]}
  words: {type: comma_delimited_list, default: 'a,b'}
  data: {type: json, default: '{}'}
resources:
  x: {type: 'OS::Heat::RandomString'}
"""


def test_generated_definition(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    (package,) = load_path(str(tmp_path))
    text = package.ui
    assert [p for p in check(text, "ui.yaml") if p.severity == "error"] == []
    session = Session(text)
    assert session.send(title="", name="stack one").kind == "next"
    assert session.field("db_name").initial == "wordpress"
    assert session.send(db_name="7", count="9").errors == {"db_name": ["must begin with a letter"], "count": ["1 to 4"]}
    assert session.send(db_name="d7", count="2").kind == "next"
    last = {"flag": "on", "words": "a", "data": "{}"}
    assert session.send(**{**last, "odd-name": "m"}).errors == {"odd-name": [""]}
    assert session.send(**{**last, "odd-name": "l"}).kind == "next"
    session.send()
    model = session.wizard.model(session.state)
    assert model["name"] == "stack one"
    values = model["templateParameters"]
    assert (values["db_name"], values["count"], values["flag"], values["odd-name"]) == ("d7", 2, True, "l")
