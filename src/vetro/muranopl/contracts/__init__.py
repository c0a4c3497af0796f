"""Contracts (SEMANTICS 6): read once into data, used by everything that needs to know what values are wanted.

`model` has the data and the names of the steps, `reader` makes it from YAML, `resolver` the steps of one expression.
Everything else takes the data: the compiler (`compiler.contracts`; its code calls `runtime` and
`compiler.contract_functions`), `schema_v1` and `schema` (draft-04 of the v1 API, 2020-12 of forms; `checks` for their
predicates), `words` for people.
"""
