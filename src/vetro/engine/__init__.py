"""Runs one task: zygote, task process, effects host, worker, journal, replay, checkpoints; how it ended (`failure`).

How they play together: docs/internals.md, "A task".
"""
