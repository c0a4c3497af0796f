"""Executable cases of the language and their runner: `python -m tests.conformance PATH...`."""
