"""Images that servers start from: built from the host's own package sources, kept once, checked by checksums."""
