"""`vetro form`: forms filled in at a terminal or by a script, and looked at without a server."""
