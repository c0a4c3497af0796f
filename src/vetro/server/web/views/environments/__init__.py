"""Pages about environments."""
