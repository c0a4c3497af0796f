"""`vetro package new`: a small package that runs, tests itself and has a form."""

from __future__ import annotations

import os
import re

from vetro.packages.errors import BuildError
from vetro.packages.hot.package_files import title_cased

DEFAULT_NAMESPACE = "com.example"
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)

_MANIFEST = """\
Format: 1.4
Type: Application
FullName: {full_name}
Version: 0.1.0
Name: {short}
Description: |
  Greets whoever it is told to.
Author: ''
Tags: [example]
Classes:
  {full_name}: {short}.yaml
  {full_name}Test: {short}Test.yaml
# Other packages whose classes are used, with the versions that fit:
# Require:
#   com.example.Database: '>=1.2,<2'
"""

_CLASS = """\
Namespaces:
  =: {namespace}
  std: io.murano

Name: {short}
Extends: std:Application

Properties:
  name:
    Contract: $.string().notNull()
  greeting:
    Contract: $.string().notNull()
    Default: Hello
  # Out: set by the code, shown to people.
  message:
    Contract: $.string()
    Usage: Out

Methods:
  deploy:
    Body:
      - $.message: $.greet()
      - $environment: $.find(std:Environment)
      - If: $environment != null
        Then:
          - $environment.reporter.report($this, $.message)

  # Public methods are actions: people can run them.
  greet:
    Scope: Public
    Body:
      - Return: format('{{0}}, {{1}}!', $.greeting, $.name)
"""

_TEST = """\
Namespaces:
  =: {namespace}
  test: io.murano.test

Name: {short}Test
Extends: test:TestFixture

Methods:
  testGreeting:
    Body:
      - $app: new({short}, name => World)
      - $.assertEqual('Hello, World!', $app.greet())

  testDeploySetsTheMessage:
    Body:
      - $app: new({short}, name => World, greeting => Bye)
      - $app.deploy()
      - $.assertEqual('Bye, World!', $app.message)
"""

_UI = """\
Version: 2.4

Application:
  ?:
    type: {full_name}
  name: $.appConfiguration.name
  greeting: $.appConfiguration.greeting

Forms:
  - appConfiguration:
      fields:
        - name: name
          type: string
          label: Name
          description: Whom to greet
          required: true
        - name: greeting
          type: string
          label: Greeting
          initial: Hello
          required: true
"""

_FILES = {
    "manifest.yaml": _MANIFEST,
    "Classes/{short}.yaml": _CLASS,
    "Classes/{short}Test.yaml": _TEST,
    "UI/ui.yaml": _UI,
}


def full_name_of(name: str) -> str:
    """The package name for what somebody typed: dotted names as they are, others below ``com.example``.

    Raises `BuildError` for names that cannot be one.
    """
    if "." not in name:
        return f"{DEFAULT_NAMESPACE}.{title_cased(name)}"
    if not _NAME.fullmatch(name):
        raise BuildError(f"'{name}' is no package name", hint="write dotted words, for example com.example.App")
    return name


def skeleton(name: str, target: str | os.PathLike[str]) -> list[str]:
    """Writes a new package into folder ``target`` (new or empty); gives the paths of its files.

    Raises `BuildError` when the name cannot be one or there is something already.
    """
    full_name = full_name_of(name)
    namespace, _, short = full_name.rpartition(".")
    target = os.path.abspath(target)
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise BuildError(f"{target}: there is something already", hint="choose a new or empty folder")
    written = []
    for path, text in _FILES.items():
        file = os.path.join(target, path.format(short=short))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text.format(full_name=full_name, namespace=namespace, short=short))
        written.append(file)
    os.makedirs(os.path.join(target, "Resources"), exist_ok=True)
    return written
