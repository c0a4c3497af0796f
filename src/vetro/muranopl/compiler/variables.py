"""Which variables a block assigns, and walking of instructions."""

from __future__ import annotations

from collections.abc import Iterator

from vetro.muranopl.declarations import tree as d
from vetro.muranopl.errors import MuranoError
from vetro.yaql import ast


def branch_block(branch: d.LazyBlock) -> d.Block:
    """The body of a Match or Switch branch; empty when it does not parse (the error comes when it is executed)."""
    try:
        return branch.parse()  # type: ignore[no-any-return]
    except MuranoError:
        return ()


def blocks_of(instruction: d.Instruction) -> Iterator[d.Block]:
    """The blocks directly inside an instruction."""
    match instruction:
        case d.Do(body=body) | d.While(body=body) | d.For(body=body) | d.Repeat(body=body) | d.Parallel(body=body):
            yield body
        case d.If(then=then, orelse=orelse):
            yield then
            yield orelse
        case d.Match(cases=cases, default=default) | d.Switch(cases=cases, default=default):
            for _, branch in cases:
                yield branch_block(branch)
            if default is not None:
                yield branch_block(default)
        case d.Try(body=body, handlers=handlers, orelse=orelse, final=final):
            yield body
            for handler in handlers:
                if handler.body is not None:
                    yield handler.body
            yield orelse
            yield final


def walk_instructions(block: d.Block) -> Iterator[d.Instruction]:
    """Every instruction of a block, nested ones included, in file order."""
    for instruction in block:
        yield instruction
        for inner in blocks_of(instruction):
            yield from walk_instructions(inner)


def target_variable(node: ast.Node) -> str | None:
    """The variable at the root of an assignment target; None when the root is no variable."""
    while isinstance(node, (ast.Attribute, ast.Index)):
        node = node.receiver
    return node.name if isinstance(node, ast.Variable) else None


def assigned_in(instruction: d.Instruction) -> Iterator[tuple[str, bool]]:
    """(variable, local to a Parallel branch?) that this instruction itself assigns."""
    match instruction:
        case d.Assign(target=target):
            name = target_variable(target.node)
            if name is not None and name not in ("1", "this"):
                yield name, False
        case d.For(variable=variable):
            yield variable, True
        case d.Try(handlers=handlers):
            for handler in handlers:
                if handler.variable is not None:
                    yield handler.variable, True


def assigned_variables(block: d.Block) -> list[str]:
    """Every variable that a block may assign, each once, in file order."""
    found: dict[str, None] = {}
    for instruction in walk_instructions(block):
        for name, _ in assigned_in(instruction):
            found[name] = None
    return list(found)


def expressions_of(instruction: d.Instruction) -> Iterator[d.Expression]:
    """The expressions that stand directly in an instruction (not those of its blocks)."""
    stack: list[object] = []
    match instruction:
        case d.Evaluate(expression=e):
            stack.append(e)
        case d.Assign(target=t, value=v):
            stack += [t, v]
        case d.Return(value=v) | d.Match(value=v):
            stack.append(v)
        case d.If(condition=c) | d.While(condition=c):
            stack.append(c)
        case d.For(collection=c):
            stack.append(c)
        case d.Repeat(count=c):
            stack.append(c)
        case d.Switch(cases=cases):
            stack += [c for c, _ in cases]
        case d.Parallel(limit=limit):
            stack.append(limit)
        case d.Throw(names=n, message=m, extra=x, cause=c):
            stack += [n, m, x, c]
    while stack:
        item = stack.pop()
        if isinstance(item, d.Expression):
            yield item
        elif isinstance(item, d.ListTemplate):
            stack += item.items
        elif isinstance(item, d.MapTemplate):
            for key, value in item.pairs:
                stack += [key, value]


def traced(block: d.Block, variable: str) -> bool:
    """Whether a block uses ``$variable`` other than by reading its name, message or extra."""
    for instruction in walk_instructions(block):
        for expression in expressions_of(instruction):
            plain = set()
            for node in ast.walk(expression.node):
                if isinstance(node, ast.Attribute) and node.name in ("name", "message", "extra"):
                    plain.add(id(node.receiver))
                elif isinstance(node, ast.Variable) and node.name == variable and id(node) not in plain:
                    return True
    return False


def branch_locals(instruction: d.Instruction) -> tuple[list[str], list[str]]:
    """(variables shared with the method, variables local to the branch) of one Parallel branch."""
    shared: dict[str, None] = {}
    local: dict[str, None] = {}
    for inner in walk_instructions((instruction,)):
        for name, own in assigned_in(inner):
            (local if own else shared)[name] = None
    return [n for n in shared if n not in local], list(local)
