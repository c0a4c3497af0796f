"""The commands of `vetro`, a module each, loaded when called. What they do to environments is in `cli.environments`."""
