"""Pages about packages, for those who write them and those who run the catalog."""
