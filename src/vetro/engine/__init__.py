"""Runs one task: zygote, task process, effects host, worker, journal, replay, checkpoints (DESIGN, "Running tasks")."""
