"""Programs that run inside servers: standard library only, one file each, mounted read-only from this machine."""
