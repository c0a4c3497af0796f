"""From the YAML of a class file to its declarations (SEMANTICS 1, 2, 4, 5.1, 7.1, 9, 14.1)."""
