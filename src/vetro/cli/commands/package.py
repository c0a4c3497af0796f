"""`vetro package`: make a new package, build archives; the packages of a server."""

from __future__ import annotations

import click

from vetro.cli.groups import Commands, Table

TABLE: Table = {
    "new": ("package_files:new", "Make a small package that checks, tests and runs at once."),
    "build": ("package_files:build", "Build archives from package folders or from a Heat template; print their paths."),
    "reference": (
        "package_files:reference",
        "Print a page about the classes of packages: properties, methods, contracts, and the comments above them.",
    ),
    "texts": (
        "package_files:texts",
        "Print the texts of a package that can be translated: a file of a language with those that it lacks.",
    ),
    "diff": (
        "package_diff:command",
        "Say what a new version of a package breaks, with a value for each break, and which number it needs.",
    ),
    "publish": (
        "package_remote:publish_command",
        "Build packages, check them and upload what the server lacks: all of it or nothing.",
    ),
    "list": ("package_remote:list_command", "List the packages of a server that you can see."),
    "search": (
        "package_remote:search_command",
        "Find packages by words of their names, descriptions, tags, authors and classes.",
    ),
    "show": ("package_remote:show_command", "Show a package of a server: the newest version, or the one named."),
    "download": ("package_remote:download_command", "Fetch the archive of a package; print its path."),
    "change": ("package_remote:change_command", "Change how a package is presented and who sees it."),
    "delete": ("package_remote:delete_command", "Remove packages from a server."),
    "import": (
        "package_remote:import_command",
        "Let the server fetch an archive from URL, packages of a repository, or a bundle.",
    ),
}


@click.group("package", cls=Commands, table=TABLE)
def command() -> None:
    """Create and build packages; publish them on a server, and look at what is there.

    \b
    Examples:
      vetro package new com.example.Web
      vetro package build ./com.example.Web -o dist
      vetro package diff com.example.Web ./com.example.Web
      vetro package publish ./com.example.Web
      vetro package search database
    """
