"""JSON Schemas of the generated classes, from their YAML as libyaml reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.native.base import Native
from benchmarks.native.packages import read_yaml
from benchmarks.workloads import generate

Data = dict[str, Any]
_SCALARS = (("$.string()", "string"), ("$.int()", "integer"), ("$.bool()", "boolean"))


def prepare(n: int, tmp: str) -> Data:
    generate.class_package(tmp, "bench.catalog", n, properties=8, methods=1)
    folder = Path(tmp) / "bench.catalog" / "Classes"
    return {f"C{i:04d}": read_yaml(folder / f"C{i:04d}.yaml") for i in range(n)}


def expression_schema(text: str) -> Data:
    schema: Data = {"type": ["muranoObject", "null"], "muranoType": "io.murano.Object"}
    for start, name in _SCALARS:
        if text.startswith(start):
            schema = {"type": name if ".notNull()" in text else [name, "null"]}
            break
    if ".check($ >= 0)" in text:
        schema["minimum"], schema["exclusiveMinimum"] = 0, False
    if ".check($ in [a, b, c])" in text:
        schema["enum"] = ["a", "b", "c"]
    return schema


def translate(contract: Any) -> Data:
    if isinstance(contract, dict):
        properties, extra = {}, False
        for key, part in contract.items():
            if key.startswith("$"):
                extra = translate(part)  # type: ignore[assignment]
            else:
                properties[key] = translate(part)
        return {"type": "object", "properties": properties, "additionalProperties": extra}
    if isinstance(contract, list):
        return {"type": "array", "items": translate(contract[0])}
    return expression_schema(contract)


def run(n: int, classes: Data) -> Data:
    result = {}
    for name, data in classes.items():
        properties = {}
        chain = [data]
        while "Extends" in chain[-1]:
            chain.append(classes[chain[-1]["Extends"]])
        for declaration in chain:
            for property_name, spec in declaration["Properties"].items():
                schema = translate(spec["Contract"])
                if "Default" in spec:
                    schema["default"] = spec["Default"]
                properties[property_name] = schema
        result["bench.catalog." + name] = {
            "": {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "type": "object",
                "properties": properties,
                "additionalProperties": False,
                "formSections": {},
            }
        }
    return result


NATIVE = {"i1_schema": Native(prepare, run)}
