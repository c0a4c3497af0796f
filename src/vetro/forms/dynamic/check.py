"""What `vetro check` says of a definition: everything that is wrong or odd, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vetro.diagnostics import ERROR, WARNING, Diagnostic
from vetro.forms.dynamic.definition import BUILT_IN_FORM, Definition, FieldDefinition, FormDefinition
from vetro.forms.dynamic.errors import DynamicFormError, EncryptionUnavailable
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import Expression, expressions_in, form_dialect, plain_dialect
from vetro.forms.dynamic.load import load_all
from vetro.forms.dynamic.names import calls, data_paths, variables
from vetro.forms.dynamic.plain_texts import nowhere
from vetro.forms.dynamic.types import TYPES
from vetro.forms.dynamic.types.passwords import SUFFIX
from vetro.yaql.didyoumean import suggest
from vetro.yaql.environment import Env
from vetro.yaql.resolve.failures import names as function_names
from vetro.yaql.resolve.signature import FunctionTable

#: Says of a name in `widgetMedia` whether there is such a file.
MediaExists = Callable[[str], bool]


def check(text: str | bytes, origin: str, *, media_exists: MediaExists | None = None) -> list[Diagnostic]:
    """Every problem of the definition in ``text``, errors and warnings, in the order of their places. Never raises.

    Problems have ``severity``, ``message``, ``position`` (file, line, column), ``code`` and ``hint``. Codes DUI11x are
    warnings: what is odd but does not keep the form from working. ``media_exists`` tells which scripts and style
    sheets can be served; without it they are not looked for.
    """
    definition, problems = load_all(text, origin)
    if definition is not None:
        problems = [*problems, *_Checker(definition, media_exists).problems()]
    return sorted(problems, key=lambda p: (p.place.line, p.place.column))


class _Checker:
    def __init__(self, definition: Definition, media_exists: MediaExists | None) -> None:
        self.definition = definition
        self.media_exists = media_exists
        self.trial = Evaluation(nowhere(), may_encrypt=True).env(None)
        self.forms: dict[str, set[str]] = {}
        for form in definition.forms:
            known = self.forms.setdefault(form.name, set())
            known.update(form.fields, (name + SUFFIX for name in form.fields))
        self.variables = {"1", *(name for name, _ in definition.parameters)}

    def problems(self) -> Iterator[Diagnostic]:
        """Everything that reading alone does not find."""
        for _, snippet in self.definition.parameters:
            yield from self.snippet(snippet, self.variables, reads_forms=False)
        for form in self.definition.forms:
            yield from self.form(form)
        inner = {*self.variables, *self.definition.templates, "forms", "index"}
        for snippet in (self.definition.application, *self.definition.templates.values()):
            yield from self.snippet(snippet, inner)

    def form(self, form: FormDefinition) -> Iterator[Diagnostic]:
        for rule in form.rules:
            if rule.message is None:
                yield _warning("this validator has no message: nobody learns what is wrong", rule.position)
            yield from self.snippet(rule.condition, self.variables)
            yield from self.snippet(rule.message, self.variables)
        for field in form.fields.values():
            yield from self.field(field)

    def field(self, field: FieldDefinition) -> Iterator[Diagnostic]:
        for setting in field.moving:
            yield from self.snippet(setting.snippet, self.variables)
        for rule in field.rules:
            if rule.message is None and not rule.by_attribute:
                yield _warning("this validator has no message: nobody learns what is wrong", rule.position)
            yield from self.snippet(rule.pattern, self.variables)
            yield from self.snippet(rule.message, self.variables)
            if rule.condition is not None:
                yield from self.expression(rule.condition, {"1"}, plain_dialect().table)
                yield from self.one_value(rule.condition)
        if isinstance(field.declared, str) and "." not in field.declared and field.declared not in TYPES:
            meant = suggest(field.declared, TYPES)
            yield _warning(
                f"there is no type of fields '{field.declared}': it is taken as the name of a class",
                field.position,
                f"did you mean {meant}?" if meant else f"types are {', '.join(TYPES)}",
                "DUI115",
            )
        static = field.static
        if _impassable(field):
            yield _warning(
                f"field '{field.name}' is hidden and required and has no initial value: nobody can pass this step",
                field.position,
                "add 'initial', or 'required: false'",
            )
        if self.media_exists is not None:
            for name in _media_files(static.get("widget_media") or {}):
                if not self.media_exists(name):
                    yield _warning(
                        f"there is no file '{name}' for widgetMedia",
                        field.settings["widget_media"].position,
                        "put it into a folder that the setting for form media names",
                        "DUI114",
                    )

    def one_value(self, expression: Expression) -> Iterator[Diagnostic]:
        """Answers of forms, read where ``$`` is the value of one field alone."""
        read = sorted({path[0] for path in data_paths(expression.node, plain_dialect().table) if path})
        for form in (name for name in read if name in self.forms):
            yield _warning(
                f"the validator of a field does not see form '{form}': $ is the field's own value",
                expression.position,
                "write $ for the value; 'validators' beside 'fields' see the answers of all forms",
                "DUI113",
            )

    def snippet(self, snippet: Any, known: set[str], *, reads_forms: bool = True) -> Iterator[Diagnostic]:
        for expression in expressions_in(snippet):
            yield from self.expression(expression, known, form_dialect().table)
            if not expression.uses_data:
                yield from _failing(expression, self.trial)
            elif reads_forms:
                yield from self.paths(expression)

    def expression(self, expression: Expression, known: set[str], table: FunctionTable) -> Iterator[Diagnostic]:
        for name, style in calls(expression.node):
            if not table.has(name, style) and not table.has(name, "FM"):
                meant = suggest(name, function_names(table, style))
                yield _warning(
                    f"there is no {'method' if style == 'M' else 'function'} '{name}'",
                    expression.position,
                    f"did you mean {meant}?" if meant else None,
                    "DUI112",
                )
        if self.definition.parameters_source is not None:
            return  # what a static action gives is not known here
        for name in variables(expression.node) - known:
            meant = suggest(name, known - {"1"})
            yield _warning(
                f"${name} is null here",
                expression.position,
                f"did you mean ${meant}?" if meant else "there is no parameter or template of this name",
                "DUI112",
            )

    def paths(self, expression: Expression) -> Iterator[Diagnostic]:
        """Answers that are read and that nobody is asked for."""
        for path in data_paths(expression.node, form_dialect().table):
            if not path or path[0] == BUILT_IN_FORM:
                continue
            form = path[0]
            if form not in self.forms:
                if len(path) > 1:
                    meant = suggest(form, self.forms)
                    hint = f"did you mean {meant}?" if meant else None
                    yield _warning(f"there is no form '{form}'", expression.position, hint, "DUI113")
            elif len(path) > 1 and path[1] not in self.forms[form]:
                meant = suggest(path[1], self.forms[form])
                hint = f"did you mean {meant}?" if meant else "its value is null"
                yield _warning(f"form '{form}' has no field '{path[1]}'", expression.position, hint, "DUI113")


def _impassable(field: FieldDefinition) -> bool:
    static = field.static
    wanted = static.get("hidden", False) and static.get("required", True) and static.get("enabled", True)
    return bool(wanted) and "initial" not in field.settings and not field.type.moving and field.type.empty is not False


def _failing(expression: Expression, trial: Env) -> Iterator[Diagnostic]:
    """An expression that reads nothing gives the same every time, so it can be tried."""
    try:
        expression.evaluate(trial)
    except EncryptionUnavailable:
        return
    except DynamicFormError as error:
        yield Diagnostic(error.code, ERROR, error.message, error.hint, error.position or expression.position)


def _warning(message: str, position: Any, hint: str | None = None, code: str = "DUI110") -> Diagnostic:
    return Diagnostic(code, WARNING, message, hint, position)


def _media_files(media: Any) -> Iterator[str]:
    for files in (media.get("css") or {}).values():
        yield from files
    yield from media.get("js") or ()
