"""A run: sessions, branches and their scheduler, effects, exceptions."""
