"""The state of a cloud on disk: its SQLite file, records, rows of stacks, locks."""
