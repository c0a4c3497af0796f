"""From answers to the object model (DYNAMIC_UI 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.definition import Definition, FormDefinition
from vetro.forms.dynamic.errors import ChoicesUnavailable, DefinitionError
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import evaluate
from vetro.forms.dynamic.plaindata import Writer
from vetro.forms.dynamic.resolve import Look
from vetro.model.header import class_of, header_of, id_of
from vetro.model.tree import rebuilt
from vetro.yaql.values import FDict

#: Under this key of the header stands what pages want to know of the application.
DISPLAY = "_26411a1861294160833743e45d0eaad9"


def build_model(definition: Definition, evaluation: Evaluation, data: FDict) -> dict[str, Any]:
    """The object model as JSON data: `Application` evaluated, ids given, the header filled in.

    Raises `ExpressionFailed`, `TemplateLoop`, `EncryptionUnavailable`, and `DefinitionError` where the result is no
    object.
    """
    found = evaluate(definition.application, evaluation.model_env(data))
    position = definition.application_position
    if not isinstance(found, FDict) or not isinstance(found.get("?"), FDict):
        raise DefinitionError(
            Text("Application gives no mapping with a '?' header"),
            position=position,
            hint=Text("write '?: {{type: full.class.Name}}'"),
        )
    kept = {ident for ident, _ in evaluation.referred.values()}

    def identify(header: dict[str, Any]) -> dict[str, Any]:
        if not (isinstance(header.get("id"), str) and header["id"] in kept):
            header["id"] = evaluation.surroundings.new_id()
        return header

    model: dict[str, Any] = Writer(position, identify).write(found)
    header = model["?"]
    if definition.names_application:
        header["name"] = evaluation.application_name
    header[DISPLAY] = {"name": evaluation.surroundings.package.name}
    return model


def resource_usage(
    forms: Sequence[FormDefinition], cleaned: Sequence[Mapping[str, Any] | None], look: Look
) -> dict[str, int] | None:
    """What the flavors chosen in fields called ``flavor`` add up to: ram (MB), vcpus, instances.

    None when the cloud cannot be asked.
    """
    total = {"ram": 0, "vcpus": 0, "instances": 0}
    for form, values in zip(forms, cleaned, strict=True):
        if "flavor" not in form.fields or not values:
            continue
        try:
            row = next((row for row in look.cloud("flavors") if row["name"] == values.get("flavor")), None)
        except ChoicesUnavailable:
            return None
        if row is not None:
            total["ram"] += row["ram"]
            total["vcpus"] += row["vcpus"]
            total["instances"] += 1
    return total


def with_ids_of(model: dict[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """``model`` in which objects have the ids of the objects of the same class at the same place of ``stored``.

    References to them follow.
    """
    renamed: dict[str, str] = {}
    pairs: list[tuple[Any, Any]] = [(model, stored)]
    while pairs:
        new, old = pairs.pop()
        if isinstance(new, dict) and isinstance(old, Mapping):
            if header_of(new) is not None and header_of(old) is not None:
                own, stored_id = id_of(new), id_of(old)
                if class_of(new) != class_of(old):
                    continue
                if own is not None and stored_id is not None:
                    renamed[own] = stored_id
            pairs.extend((value, old[key]) for key, value in new.items() if key != "?" and key in old)
        elif isinstance(new, list) and isinstance(old, (list, tuple)):
            pairs.extend(zip(new, old, strict=False))

    found: dict[str, Any] = rebuilt(
        model,
        lambda mapping, state: ((key, item, state) for key, item in mapping.items()),
        text=lambda text, state: renamed.get(text, text),
    )
    return found
