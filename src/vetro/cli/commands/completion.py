"""`vetro completion`: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from vetro.cli import output as out
from vetro.cli.main import main


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print a script that makes SHELL complete `vetro` with the Tab key: commands, options, names of environments.

    \b
    Examples:
      eval "$(vetro completion bash)"       in ~/.bashrc
      eval "$(vetro completion zsh)"        in ~/.zshrc
      vetro completion fish > ~/.config/fish/completions/vetro.fish
    """
    found = get_completion_class(shell)
    assert found is not None, shell
    made = found(main, {}, "vetro", "_VETRO_COMPLETE")
    out.echo(made.source_template % made.source_vars())  # `source` would ask the installed shell for its version
