"""The kind `record`: servers are only written down, and their answers come from a table."""
