"""``python -m vetro`` is the `vetro` command."""

from vetro.cli.main import main

main(prog_name="vetro")
