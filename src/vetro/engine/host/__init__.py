"""Performs the effects of tasks: the only part with network, cloud state and an environment's credentials.

`process.HostProcess` is how a worker runs it; `performer.EffectsHost` is the same as an object, and `config.build_host`
makes one of plain settings. See docs/internals.md, "A task".
"""
