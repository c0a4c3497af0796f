"""The closure tier: expressions that run once or a few times become Python functions of an `Env`, a node each."""
