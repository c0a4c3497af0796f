"""YAML texts as trees of nodes that know where they stand."""
