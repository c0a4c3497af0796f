"""The format Heat.HOT: a Heat template as an application (PACKAGES 4)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.declarations.versions import Version
from vetro.packages.files import FileTree, decode
from vetro.packages.hot.classes import class_text
from vetro.packages.hot.form import form_text
from vetro.packages.hot.template import HotTemplate, read_template
from vetro.packages.hot.values import refuse
from vetro.packages.plugin import PackageBase

TEMPLATE = "template.yaml"
FILES, ENVIRONMENTS = "Resources/HotFiles/", "Resources/HotEnvironments/"


class HotPackage(PackageBase):
    """One class, made from ``template.yaml``, and a form that asks for its parameters.

    Plug-ins whose packages become Heat templates may derive from it and give other `heat_files`. Raises
    `TemplateError`, with the line, for a template that cannot be offered as an application.
    """

    needs_directory: ClassVar[bool] = False
    #: Whether outputs are properties of their own, too.
    separate_outputs: ClassVar[bool] = False

    def __init__(
        self,
        format_name: str,
        runtime_version: Version,
        source_directory: str | FileTree,
        manifest: Mapping[str, Any],
    ) -> None:
        super().__init__(format_name, runtime_version, source_directory, manifest)
        file = self._files.file_id(TEMPLATE)
        try:
            text = self._files.read(TEMPLATE)
        except FileNotFoundError:
            raise refuse(
                Text("there is no {template}", template=TEMPLATE), Position(file, 1, 1), Text("add the Heat template")
            ) from None
        self._template = read_template(text, file)

    @property
    def template(self) -> HotTemplate:
        """What the template asks and answers."""
        return self._template

    @property
    def requirements(self) -> Mapping[str, Any]:
        return {}

    @property
    def classes(self) -> Sequence[str]:
        return [self.full_name]

    @property
    def heat_files(self) -> Mapping[str, str]:
        """The files that the template may refer to: the name it uses -> path below ``Resources``."""
        prefix = len("Resources/")
        return {path.removeprefix(FILES): path[prefix:] for path in self._files.paths() if path.startswith(FILES)}

    @cached_property
    def _class(self) -> str:
        files = self.heat_files
        for path in set(files.values()):  # Heat takes texts: say so before anything is deployed
            decode(self._files.read(f"Resources/{path}"), self._files.file_id(f"Resources/{path}"))
        return class_text(
            self.full_name,
            self._template,
            files=files,
            environments=any(path.startswith(ENVIRONMENTS) for path in self._files.paths()),
            separate_outputs=self.separate_outputs,
        )

    def get_class(self, name: str) -> tuple[str, str]:
        return self._class, self._template.file

    @property
    def ui(self) -> str:
        return form_text(self.full_name, str(self.version), self.description, self._template)

    def get_resource(self, name: str) -> str:
        if name == self.full_name:
            return os.path.join(self.source_directory, TEMPLATE)
        return super().get_resource(name)
