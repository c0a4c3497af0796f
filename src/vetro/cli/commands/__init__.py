"""The commands of `vetro`, a module each; `vetro.cli.main` loads one when it is called."""
