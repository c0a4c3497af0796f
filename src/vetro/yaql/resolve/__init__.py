"""From a name and its arguments to the function that is called (YAQL.md 3.3).

`signature` declares functions, `candidates` and `shape` leave those that fit a call before any value is known,
`overloads` decides with the values at hand, `dispatchers` are the same decisions as generated code. `operators` run
without all that; `failures` says what did not fit.
"""
