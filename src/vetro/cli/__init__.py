"""The `vetro` command."""
