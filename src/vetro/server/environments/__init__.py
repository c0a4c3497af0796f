"""Environments: states of their object models, sessions (drafts), templates, statistics."""
