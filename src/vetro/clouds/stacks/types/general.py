"""Types that make nothing outside of the stack: values, random texts, placeholders."""

from __future__ import annotations

import secrets
import string
from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType

_SEQUENCES = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}
_LONGEST = 512


class RandomString(ResourceType):
    """OS::Heat::RandomString: made once, kept until length, classes, sequences or salt change."""

    plain = True

    properties: Mapping[str, Prop] = {
        "length": Prop("integer", default=32),
        "character_classes": Prop(
            "list",
            fields={
                "class": Prop("string", default="lettersdigits", allowed=tuple(_SEQUENCES)),
                "min": Prop("integer", default=1),
            },
        ),
        "character_sequences": Prop(
            "list", fields={"sequence": Prop("string", required=True), "min": Prop("integer", default=1)}
        ),
        "sequence": Prop("string", allowed=tuple(_SEQUENCES)),
        "salt": Prop("string"),
    }
    attributes = ("value",)

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """The length is bounded, and long enough for what is asked of each class."""
        length = props.get("length", 32)
        least = sum(item["min"] for item in _classes(props))
        if not 1 <= length <= _LONGEST:
            raise PropertyInvalid(f"length must be from 1 to {_LONGEST}, not {length}")
        if length < least:
            raise PropertyInvalid(f"length must be at least {least}: that many characters are asked for")

    def create(self, call: Call) -> None:
        """The text is made of what every class asks for and filled up from all of them."""
        if "value" in call.data:
            return
        classes = _classes(call.props)
        chosen = [secrets.choice(item["characters"]) for item in classes for _ in range(item["min"])]
        together = "".join(item["characters"] for item in classes)
        chosen += [secrets.choice(together) for _ in range(call.props["length"] - len(chosen))]
        secrets.SystemRandom().shuffle(chosen)
        call.data["value"] = "".join(chosen)

    def reference(self, call: Call) -> Any:
        """The text itself, as with Heat."""
        return call.data.get("value")

    def show(self, call: Call) -> Any:
        """The text as a mapping."""
        return {"value": call.data.get("value")}


def _classes(props: Mapping[str, Any]) -> list[dict[str, Any]]:
    made = [
        {"characters": _SEQUENCES[item.get("class", "lettersdigits")], "min": max(0, item.get("min", 1))}
        for item in props.get("character_classes") or []
    ]
    made += [
        {"characters": item["sequence"], "min": max(0, item.get("min", 1))}
        for item in props.get("character_sequences") or []
        if item["sequence"]
    ]
    return made or [{"characters": _SEQUENCES[props.get("sequence") or "lettersdigits"], "min": 0}]


class Value(ResourceType):
    """OS::Heat::Value: a name for a value of the template."""

    plain = True

    properties: Mapping[str, Prop] = {
        "value": Prop("any", update=True),
        "type": Prop("string", update=True, allowed=("string", "number", "json", "comma_delimited_list", "boolean")),
    }
    attributes = ("value",)

    def create(self, call: Call) -> None:
        """Nothing is made."""

    def value(self, call: Call, name: str) -> Any:
        """The value."""
        return call.props.get("value")


class Nothing(ResourceType):
    """OS::Heat::None, and types that nobody knows where settings accept them: any property, no effect."""

    plain = True

    anything = True

    def create(self, call: Call) -> None:
        """Nothing is made."""

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Never: there is nothing to replace."""
        return False

    def attribute(self, call: Call, name: str, path: list[Any]) -> Any:
        """Null, for every name."""
        return None
