"""Reading contracts (SEMANTICS 6): expressions, literals, lists with lengths, mappings."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from vetro.diagnostics import Text
from vetro.muranopl.contracts.model import Contract, ContractExpression, ContractList, ContractMap
from vetro.muranopl.contracts.resolver import chain_of
from vetro.muranopl.errors import ContractSyntax
from vetro.muranopl.expressions import Expression, Literal
from vetro.muranopl.reader.values import ReadContext
from vetro.muranopl.source.nodes import YNode
from vetro.yaql.values import SCALARS


def read_contract(context: ReadContext, node: YNode) -> Contract:
    """The contract in ``node``. Raises `ContractSyntax`."""
    if isinstance(node, ScalarNode):
        value = context.scalars.read(node)
        if value.__class__ in SCALARS:
            return Literal(value, context.position(node))
        return _resolved(context.scalars.expression(node, value))
    if isinstance(node, SequenceNode):
        return _contract_list(context, node)
    return _contract_map(context, node)


def _resolved(read: Expression) -> ContractExpression:
    return ContractExpression(read.text, read.node, read.position, read.offsets, chain=chain_of(read.node))


def _contract_list(context: ReadContext, node: SequenceNode) -> ContractList:
    items = [read_contract(context, item) for item in node.value]
    lengths: list[int] = []
    while items and len(lengths) < 2:
        last = items[-1]
        if not isinstance(last, Literal) or last.value.__class__ is not int:
            break
        lengths.insert(0, last.value)
        items.pop()
    minimum = lengths[0] if lengths else None
    maximum = lengths[1] if len(lengths) > 1 else None
    return ContractList(tuple(items), minimum, maximum, context.position(node))


def _contract_map(context: ReadContext, node: MappingNode) -> ContractMap:
    entries: dict[Any, Contract] = {}
    rest: list[tuple[ContractExpression, Contract]] = []
    for key, value in node.value:
        read = context.template(key)
        if isinstance(read, Expression):
            rest.append((_resolved(read), read_contract(context, value)))
        elif isinstance(read, Literal):
            entries[read.value] = read_contract(context, value)
        else:
            raise ContractSyntax(
                Text("a key of a mapping contract is a plain value or one expression"),
                position=context.position(key),
                hint=Text("compute the value in a method and check it there"),
            )
    return ContractMap(tuple(entries.items()), tuple(rest), not node.value, context.position(node))
