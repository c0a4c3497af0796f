"""The compiled tier: YAQL syntax trees become Python syntax trees.

Input is a frozen `vetro.yaql.ast` tree and a `Scope` that says which Python local holds which variable; output is a
`Code`: a Python expression with what is known about its value. Operators and queries get inline fast paths behind
class guards; everything dynamic (`let`, `def`, `call`, contexts…) is left to the closure tier through a *closure
site*: a call of a prebuilt closure with the visible variables. Both tiers share tree, library and resolution.

Generated code refers to its helpers by global names. What a name stands for is recorded in ``links`` as plain data,
so that code can be marshalled, cached, and bound again in another process (`binding.bind`).
"""

from vetro.yaql.codegen.base import Code, Scope
from vetro.yaql.codegen.emitter import Emitter, compile_expression

__all__ = ["Code", "Emitter", "Scope", "compile_expression"]
