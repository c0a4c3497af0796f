"""Commands on environments: those of a server, and those of a workspace of this machine."""
