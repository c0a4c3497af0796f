"""The class of a HOT package, generated as MuranoPL (PACKAGES 4).

Contracts stand on the lines on which the template declares parameters and outputs, the methods on that of `resources`
where the order of the sections allows it: the text is filed under the template's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vetro.packages.flow import At, Yaql, write
from vetro.packages.hot.constraints import literal, predicate
from vetro.packages.hot.template import HotTemplate, Parameter

PARENT = "io.murano.Application"
STACK_NAME = "generatedHeatStackName"
_ESCAPED = "$value" + "".join(
    f".replace({literal(raw)}, {literal(escaped)})"
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
)
#: Outputs whose names mean something in expressions are found in `templateOutputs` only.
_PROPERTY = re.compile(r"(?!(?:and|or|not|in|is|mod|true|false|null|name|_.*)$)[A-Za-z]\w*", re.ASCII)
_CONTRACTS = {"number": "$.int()", "boolean": "$.bool()"}


def class_text(
    name: str,
    template: HotTemplate,
    *,
    files: Mapping[str, str] | None = None,
    environments: bool = False,
    separate_outputs: bool = False,
) -> str:
    """The text of the class ``name``.

    ``files`` are the files that the template refers to: names for Heat to names of package resources. With
    ``environments`` an environment file may give parameters, so that any are accepted. With ``separate_outputs`` each
    output is a property of its own as well, where its name can be one. The template itself is expected as a resource
    with the name of the class.
    """
    accepted: Any = {Yaql("$.string()"): Yaql("$")} if environments else _parameters(template)
    inputs = {"templateParameters": {"Usage": "In", "Default": {}, "Contract": accepted}}
    contracts = _in_order({key: At(place.line, Yaql("$.string()")) for key, place in template.outputs.items()})
    outputs = {"templateOutputs": {"Usage": "Out", "Default": {}, "Contract": contracts}}
    first_input = min((p.position.line for p in template.parameters), default=0)
    first_output = min((place.line for place in template.outputs.values()), default=template.lines)
    generated = {**inputs, **outputs} if first_input <= first_output else {**outputs, **inputs}
    properties = {
        STACK_NAME: {"Usage": "Out", "Contract": Yaql("$.string()")},
        "hotEnvironment": {"Usage": "In", "Contract": Yaql("$.string()")},
        "name": {"Usage": "In", "Contract": Yaql("$.string().notNull()")},
        **generated,
    }
    single = [n for n in template.outputs if _PROPERTY.fullmatch(n) and n not in properties] if separate_outputs else []
    properties.update({n: {"Usage": "Out", "Contract": Yaql("$.string()")} for n in single})
    steps = _deploy(name, files or {})
    steps[-2:-2] = [_set(f"$.{n}", f"$outputs.get({n})") for n in single]
    methods = {"deploy": {"Body": steps}, "destroy": {"Body": _destroy()}, "_json": _json()}
    head = {"Name": name, "Extends": PARENT}
    line = template.resources.line
    if line < min(first_input or template.lines, first_output):
        return write({**head, "Methods": At(line, methods), "Properties": properties})
    return write({**head, "Properties": properties, "Methods": At(line, methods)})


def _in_order(entries: Mapping[str, At]) -> dict[str, At]:
    """By line: aliases and merges may declare things in another order than they stand."""
    return dict(sorted(entries.items(), key=lambda entry: entry[1].line or 0))


def _parameters(template: HotTemplate) -> dict[str, At]:
    return _in_order({p.name: At(p.position.line, Yaql(_contract(p))) for p in template.parameters})


def _contract(parameter: Parameter) -> str:
    """The contract of one parameter. Null, which is not sent, passes every check."""
    text = _CONTRACTS.get(parameter.type, "$.string()")
    for constraint in parameter.constraints:
        check = predicate(constraint, parameter.type)
        if check is not None:
            message = f", {literal(constraint.description)}" if constraint.description else ""
            text += f".check($ = null or ({check}){message})"
    return text


def _deploy(name: str, files: Mapping[str, str]) -> list[Any]:
    steps: list[Any] = [
        _set("$environment", "$.find('io.murano.Environment').require()"),
        _set("$reporter", "new('io.murano.system.StatusReporter', environment => $environment)"),
        {
            "If": Yaql(f"$.getAttr({STACK_NAME}) = null"),
            "Then": [Yaql(f"$.setAttr({STACK_NAME}, randomName() + '_' + id($environment))")],
        },
        _set(f"$.{STACK_NAME}", f"$.getAttr({STACK_NAME})"),
        _set("$stack", f"new('io.murano.system.HeatStack', $environment, name => $.{STACK_NAME})"),
        _report("Deployment of the template has started"),
    ]
    attempt: list[Any] = [
        _set("$resources", "new('io.murano.system.Resources')"),
        _set("$parameters", "dict()"),
        {
            "For": "name",
            "In": Yaql("$.templateParameters.keys()"),
            "Do": [
                {
                    "If": Yaql("$.templateParameters.get($name) != null"),
                    "Then": [_set("$parameters[$name]", "$.templateParameters.get($name)")],
                }
            ],
        },
        Yaql(f"$stack.setTemplate($resources.yaml({literal(name)}))"),
        Yaql("$stack.setParameters($parameters)"),
        {Yaql("$files"): {key: Yaql(f"$resources.string({literal(path)})") for key, path in files.items()}},
        Yaql("$stack.setFiles($files)"),
        {
            "If": Yaql("$.hotEnvironment != null"),
            "Then": [Yaql("$stack.setHotEnvironment($resources.string('HotEnvironments/' + $.hotEnvironment))")],
        },
        _report("The stack is being created or updated"),
        Yaql("$stack.push()"),
    ]
    failed = [
        Yaql("$reporter.report_error($this, 'The stack cannot be deployed: ' + $error.message)"),
        {"Rethrow": None},
    ]
    steps.append({"Try": attempt, "Catch": [{"As": "error", "Do": failed}]})
    steps += [
        _set("$outputs", "$stack.output()"),
        {
            "For": "name",
            "In": Yaql("$outputs.keys()"),
            "Do": [
                _set("$value", "$outputs.get($name)"),
                {
                    # The contracts take text, integers and booleans; Heat's outputs may be anything.
                    "If": Yaql("isList($value) or isDict($value) or (isNumber($value) and not isInteger($value))"),
                    "Then": [_set("$outputs[$name]", "$._json($value)")],
                },
            ],
        },
        _set("$.templateOutputs", "$outputs"),
        _report("The stack is complete"),
        _report("Deployment of the template has finished"),
    ]
    return steps


def _destroy() -> list[Any]:
    return [
        _set("$name", f"$.getAttr({STACK_NAME})"),
        {
            "If": Yaql("$name != null"),
            "Then": [
                _set("$stack", "new('io.murano.system.HeatStack', name => $name)"),
                Yaql("$stack.delete()"),
            ],
        },
    ]


def _json() -> dict[str, Any]:
    """A method that writes lists and mappings as JSON: the language itself has no function for it."""
    body = [
        {
            "If": Yaql("isList($value)"),
            "Then": [_return("'[' + $value.select($this._json($)).join(', ') + ']'")],
        },
        {
            "If": Yaql("isDict($value)"),
            "Then": [
                _return("'{' + $value.items().select($this._json($[0]) + ': ' + $this._json($[1])).join(', ') + '}'")
            ],
        },
        {
            "If": Yaql("isString($value)"),
            "Then": [_return("'\"' + " + _ESCAPED + " + '\"'")],
        },
        {"If": Yaql("isBoolean($value)"), "Then": [_return("str($value).toLower()")]},
        _return("str($value)"),
    ]
    return {"Arguments": [{"value": {"Contract": Yaql("$")}}], "Body": body}


def _return(expression: str) -> dict[str, Yaql]:
    return {"Return": Yaql(expression)}


def _set(target: str, expression: str) -> dict[Yaql, Yaql]:
    return {Yaql(target): Yaql(expression)}


def _report(message: str) -> Yaql:
    return Yaql(f"$reporter.report($this, {literal(message)})")
