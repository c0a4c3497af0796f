"""Class files as declarations: documents, names, properties, methods, arguments, meta."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.contracts.model import ContractList, ContractMap
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentUsage,
    ClassDecl,
    ClassUsage,
    Expression,
    ListTemplate,
    Literal,
    MapTemplate,
    MethodScope,
    MethodUsage,
    PropertyUsage,
)
from vetro.muranopl.errors import DeclarationError, DslSyntaxError, MissingKey, MuranoError, SourceError, UnknownPrefix
from vetro.muranopl.reader.files import read_file, read_manifest_meta
from vetro.muranopl.source.documents import load_documents
from vetro.yaql.errors import VetroError


def classes(text: str, version: tuple[int, int] = (1, 4), default: str | None = "t.Main") -> Mapping[str, ClassDecl]:
    return read_file(textwrap.dedent(text), "f.yaml", format_version=version, default_name=default, digest="d").classes


def one(text: str, version: tuple[int, int] = (1, 4)) -> ClassDecl:
    (found,) = classes(text, version).values()
    return found


# -- documents and names ----------------------------------------------------------------------------------------------


def test_an_empty_class_takes_the_name_of_the_manifest() -> None:
    decl = one("Properties:\nMethods:\n")
    assert (decl.name, decl.usage, decl.extends, decl.digest) == ("t.Main", ClassUsage.CLASS, (), "d")
    assert not decl.properties and not decl.methods and not decl.meta and not decl.imports


def test_namespaces_are_inherited_by_later_documents() -> None:
    found = classes(
        """
        Namespaces: {=: a.b, std: io.murano, none: }
        ---
        Name: One
        ---
        Name: std:Two
        Extends: :One
        ---
        Namespaces: {=: c}
        Name: One
        ---
        Name: x.Three
        """
    )
    assert list(found) == ["a.b.One", "io.murano.Two", "c.One", "x.Three"]
    assert found["io.murano.Two"].extends == (":One",)
    assert found["a.b.One"].namespaces.resolve("none:X") == "X"
    assert found["x.Three"].namespaces.resolve("Y") == "c.Y"


def test_one_class_may_lack_a_name_wherever_it_stands() -> None:
    assert list(classes("Name: a.First\n---\nUsage: Class\n---\nName: a.Last\n")) == ["a.First", "t.Main", "a.Last"]
    with pytest.raises(DeclarationError):
        classes("Usage: Class\n---\nUsage: Meta\n")
    with pytest.raises(MissingKey):
        classes("Usage: Class\n", default=None)


def test_lists_may_be_written_as_one_item() -> None:
    decl = one("Extends: a.B\nImport: [a.C, a.D]\n")
    assert (decl.extends, decl.imports) == (("a.B",), ("a.C", "a.D"))


def test_names_with_a_prefix_are_kept_as_written() -> None:
    decl = one("Namespaces: {p: a.b}\nExtends: [p:X, 'p:Y']\n")
    assert decl.extends == ("p:X", "p:Y")
    with pytest.raises(UnknownPrefix) as caught:
        one("Extends: q:X\n")
    assert str(caught.value.position) == "f.yaml:1:10"


def test_workflow_is_another_name_of_methods() -> None:
    assert list(one("Workflow: {a: }\n").methods) == ["a"]
    assert list(one("Workflow: {a: }\nMethods: {b: }\n").methods) == ["b"]
    assert list(one("Workflow: {a: }\nMethods: {}\n").methods) == ["a"]


def test_unknown_keys_are_ignored() -> None:
    assert one("Nmae: x\nAuthor: me\n").name == "t.Main"


def test_meta_classes() -> None:
    decl = one("Usage: Meta\nCardinality: Many\nApplies: [Type, Method]\nInherited: true\n")
    assert decl.usage is ClassUsage.META
    assert (decl.cardinality, decl.applies, decl.inherited) == ("Many", {"Type", "Method"}, True)
    plain = one("Usage: Meta\nApplies: Property\n")
    assert (plain.cardinality, plain.applies, plain.inherited) == ("One", {"Property"}, False)
    assert one("Cardinality: whatever\n").cardinality == "One"


def test_a_byte_order_mark_shifts_nothing() -> None:
    decl = one('\ufeffProperties:\n  a: {Contract: !yaql "$.int()"}\n')
    contract = decl.properties["a"].contract
    assert isinstance(contract, Expression) and contract.locate(2) == (2, 26)


# -- properties -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", PropertyUsage)
def test_property_usages(usage: PropertyUsage) -> None:
    assert one(f"Properties: {{a: {{Contract: $, Usage: {usage.value}}}}}").properties["a"].usage is usage


def test_property_defaults() -> None:
    decl = one("Properties:\n  a: {Contract: $}\n  b: {Contract: $, Default: }\n  c: {Contract: $, Default: $.a}\n")
    assert decl.properties["a"].default is NO_DEFAULT
    assert decl.properties["a"].usage is PropertyUsage.IN
    null, computed = decl.properties["b"].default, decl.properties["c"].default
    assert isinstance(null, Literal) and null.value is None
    assert isinstance(computed, Expression) and computed.text == "$.a"
    assert str(decl.properties["c"].position) == "f.yaml:4:3"


def test_names_of_properties_are_read_as_text() -> None:
    """YAML 1.1 reads ``on`` and ``no`` as booleans; here they are names."""
    assert list(one("Properties: {on: {Contract: $}, no: {Contract: $}}").properties) == ["on", "no"]


# -- contracts --------------------------------------------------------------------------------------------------------


def contract(text: str) -> Any:
    return one(f"Properties:\n  a:\n    Contract: {text}\n").properties["a"].contract


@pytest.mark.parametrize(
    ("text", "count", "minimum", "maximum"),
    [
        ("[]", 0, None, None),
        ("[$.int()]", 1, None, None),
        ("[$.int(), 2]", 1, 2, None),
        ("[$.int(), 2, 5]", 1, 2, 5),
        ("[$.int(), $.string()]", 2, None, None),
        ("[$, 1, 2, 3]", 2, 2, 3),
        ("[7]", 0, 7, None),
        ("[$.int(), true]", 2, None, None),
    ],
)
def test_list_contracts(text: str, count: int, minimum: int | None, maximum: int | None) -> None:
    found = contract(text)
    assert isinstance(found, ContractList)
    assert (len(found.items), found.minimum, found.maximum) == (count, minimum, maximum)


def test_mapping_contracts() -> None:
    found = contract("{a: $.int(), 1: [x], $.string(): $}")
    assert isinstance(found, ContractMap)
    assert [key for key, _ in found.entries] == ["a", 1]
    assert [key.text for key, _ in found.rest] == ["$.string()"]
    assert not found.open
    assert contract("{}").open
    assert len(contract("{$.string(): $, $.int(): $}").rest) == 2


def test_a_quoted_contract_is_a_text() -> None:
    found = contract('"$.int()"')
    assert isinstance(found, Literal) and found.value == "$.int()"


# -- templates --------------------------------------------------------------------------------------------------------


def template(text: str) -> Any:
    return one(f"Properties:\n  a:\n    Contract: $\n    Default: {text}\n").properties["a"].default


def test_templates_without_expressions_are_one_frozen_value() -> None:
    found = template("{a: [1, {b: null}], 2: x}")
    assert isinstance(found, Literal)
    assert found.value == {"a": (1, {"b": None}), 2: "x"}
    assert hash(found.value) == hash(found.value)


def test_templates_with_expressions_keep_their_shape() -> None:
    found = template("[1, {$k: $v, x: 2}]")
    assert isinstance(found, ListTemplate)
    inner = found.items[1]
    assert isinstance(inner, MapTemplate) and len(inner.pairs) == 2


def test_equal_keys_of_old_packages() -> None:
    text = "Properties:\n  a: {Contract: $, Default: {x: 1, y: 2, x: 3}}\n"
    with pytest.raises(SourceError):
        one(text)
    default = one(text, (1, 3)).properties["a"].default
    assert isinstance(default, Literal) and default.value == {"x": 3, "y": 2}


# -- methods ----------------------------------------------------------------------------------------------------------


def test_methods() -> None:
    decl = one(
        """
        Methods:
          initialize: {Body: [$.a: 1]}
          destroy:
          run: {Usage: Action}
          open: {Scope: Public, Body: $.run()}
          make: {Usage: Static}
          extend: {Usage: Extension, Arguments: {self: {Contract: $}}}
        """
    )
    assert list(decl.methods) == [".init", ".destroy", "run", "open", "make", "extend"]
    run, opened = decl.methods["run"], decl.methods["open"]
    assert (run.usage, run.scope, run.public, run.static) == (MethodUsage.ACTION, MethodScope.SESSION, True, False)
    assert opened.public and len(opened.body) == 1
    assert decl.methods["make"].static and decl.methods["extend"].static
    assert decl.methods[".destroy"].body == () and not decl.methods[".destroy"].public


def test_arguments() -> None:
    method = one(
        """
        Methods:
          m:
            Arguments:
              - a: {Contract: $.int()}
              - this: {Contract: $, Default: 1}
              - rest: {Contract: $, Usage: VarArgs}
              - more: {Contract: $, Usage: KwArgs}
        """
    ).methods["m"]
    assert [a.name for a in method.arguments] == ["a", "this", "rest", "more"]
    assert [a.usage for a in method.arguments][2:] == [ArgumentUsage.VAR_ARGS, ArgumentUsage.KW_ARGS]
    assert method.arguments[0].default is NO_DEFAULT
    assert one("Methods: {m: {Arguments: }}").methods["m"].arguments == ()


# -- meta -------------------------------------------------------------------------------------------------------------


def test_meta_forms() -> None:
    decl = one(
        """
        Namespaces: {m: io.murano.metadata}
        Meta: m:ModelBuilder
        Properties:
          a: {Contract: $, Meta: {m:Title: {text: A}}}
        Methods:
          f:
            Meta:
              - m:Title: {text: $.x}
              - m:ModelBuilder:
              - x.Y
            Arguments:
              - b: {Contract: $, Meta: [m:Hidden]}
        """
    )
    assert [m.name for m in decl.meta] == ["m:ModelBuilder"]
    (title,) = decl.properties["a"].meta
    text = title.properties["text"]
    assert isinstance(text, Literal) and text.value == "A"
    method = decl.methods["f"]
    assert [m.name for m in method.meta] == ["m:Title", "m:ModelBuilder", "x.Y"]
    assert isinstance(method.meta[0].properties["text"], Expression)
    assert [m.name for m in method.arguments[0].meta] == ["m:Hidden"]


def test_meta_of_a_manifest() -> None:
    assert read_manifest_meta(None) == ()
    plain = read_manifest_meta([{"a.B": {"x": [1]}}, "a.C", {"a.D": None}])
    assert [m.name for m in plain] == ["a.B", "a.C", "a.D"]
    value = plain[0].properties["x"]
    assert isinstance(value, Literal) and value.value == (1,)
    (node,) = load_documents("a.B: {x: 1}", "manifest.yaml")
    assert read_manifest_meta(node)[0].name == "a.B"
    for wrong in (5, "a b", [None], {"a.B": 5}, {"p:X": None}):
        with pytest.raises(DeclarationError):
            read_manifest_meta(wrong)


# -- problems ---------------------------------------------------------------------------------------------------------


def test_collecting_goes_on_with_what_can_be_read() -> None:
    problems: list[MuranoError] = []
    found = read_file(
        textwrap.dedent(
            """
            Extends: q:X
            Usage: Strange
            Properties:
              a: {Usage: Out}
              b: {Contract: $}
              b: {Contract: $}
            Methods:
              m:
                Body:
                  - hello
                  - Return: 1
                  - Match: {1: nonsense here}
                    Value: $
            """
        ),
        "f.yaml",
        format_version=(1, 4),
        default_name="t.Main",
        problems=problems,
    ).classes["t.Main"]
    assert list(found.properties) == ["b"]
    assert len(found.methods["m"].body) == 2
    assert sorted((p.position.line, p.code) for p in problems) == [
        (2, "MPL104"),
        (3, "MPL101"),
        (5, "MPL102"),
        (7, "MPL103"),
        (11, "MPL100"),
        (13, "MPL100"),
    ]


def test_warnings_raise_nothing() -> None:
    text = "Nmae: x\nProperties: {a: {Contract: $, Defualt: 1}}\nMethods: {m: {Usage: Action}}\n"
    assert one(text).name == "t.Main"
    problems: list[MuranoError] = []
    read_file(text, "f", format_version=(1, 4), default_name="t.Main", problems=problems)
    assert [p.severity for p in problems] == ["warning"] * 3


_WORDS = st.sampled_from(
    [
        "Name",
        "Namespaces",
        "Extends",
        "Properties",
        "Methods",
        "Usage",
        "Meta",
        "Import",
        "Contract",
        "Default",
        "Arguments",
        "Body",
        "Scope",
        "If",
        "Then",
        "While",
        "Do",
        "For",
        "In",
        "Return",
        "Match",
        "Switch",
        "Value",
        "Try",
        "Catch",
        "With",
        "As",
        "Throw",
        "Parallel",
        "Limit",
        "Break",
        "$",
        "$.x",
        "$x+1",
        "$.f(",
        "a.B",
        "p:X",
        "1",
        "true",
        "~",
        "x-y",
    ]
)
_TREES = st.recursive(
    st.one_of(_WORDS, st.integers(), st.none(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_WORDS, inner, max_size=4)),
    max_leaves=25,
)


def _flow(tree: Any) -> str:
    if isinstance(tree, list):
        return "[" + ", ".join(map(_flow, tree)) + "]"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in tree.items()) + "}"
    return "~" if tree is None else str(tree)


@settings(max_examples=examples(200), deadline=None)
@given(st.dictionaries(_WORDS, _TREES, max_size=6), st.sampled_from([(1, 0), (1, 4)]))
def test_whatever_is_written_gives_declarations_or_the_own_errors(tree: Any, version: tuple[int, int]) -> None:
    text = _flow(tree)
    problems: list[MuranoError] = []
    read_file(text, "f", format_version=version, default_name="t.Main", problems=problems)
    errors = [p for p in problems if p.severity == "error"]
    try:
        read_file(text, "f", format_version=version, default_name="t.Main")
    except VetroError as error:
        assert isinstance(error, (SourceError, DslSyntaxError, DeclarationError, UnknownPrefix))
        assert error.position is not None and error.hint
        assert errors
    else:
        assert not errors or "Match" in text or "Switch" in text
