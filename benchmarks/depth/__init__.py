"""How deep calls and objects may be nested, and what happens beyond: a named error, never the end of the process."""
