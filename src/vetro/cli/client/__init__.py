"""The command line's side of a server: contexts, requests to /v2, finding things by name, following tasks."""
