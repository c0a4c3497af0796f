"""Runs one task: zygote, task process, effects host, worker, journal, replay, checkpoints.

How they play together: docs/internals.md, "A task".
"""
