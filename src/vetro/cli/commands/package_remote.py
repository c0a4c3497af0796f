"""`vetro package publish|list|search|show|download|change|delete|import`: the catalog of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from vetro.cli import output as out
from vetro.cli import package_transfer
from vetro.cli.client import find
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.requests import Refused
from vetro.cli.name_completion import packages
from vetro.cli.package_paths import load_packages
from vetro.cli.package_transfer import fetch
from vetro.cli.rows import print_one, print_rows
from vetro.cli.summary import marked

F = TypeVar("F", bound=Callable[..., Any])

_WHAT = "catalogs are those of servers"
_COLUMNS = ("fqn", "version", "type", "categories", "public")
_HEAD = {"fqn": "package"}
_WIDE = ("name", "tags", "enabled", "id")


_anyway = click.option(
    "--anyway", is_flag=True, help="Also where the version number is too low for what it breaks (administrators)."
)


def _import_options(function: F) -> F:
    """How packages come into a catalog."""
    for option in (
        _anyway,
        click.option("--allow-missing", is_flag=True, help="Also where the server lacks what they require."),
        click.option("--tag", "tags", multiple=True, metavar="WORD", help="A tag more. Repeatable."),
        click.option("--category", "categories", multiple=True, metavar="NAME", help="Put them in there. Repeatable."),
        click.option("--public", is_flag=True, help="Show them to all projects."),
    ):
        function = option(function)
    return function


@click.command("publish")
@click.argument("dirs", nargs=-1, required=True, metavar="DIR...", type=click.Path(exists=True))
@_import_options
@click.option("--no-check", is_flag=True, help="Leave the checks to the server.")
@click.option("--dry-run", is_flag=True, help="Say what would be uploaded and what the server would say about it.")
@context_option
@out.output_option("table", "json", "yaml")
def publish_command(
    dirs: tuple[str, ...],
    no_check: bool,
    dry_run: bool,
    output: str,
    **options: Any,
) -> None:
    """Build packages, check them and upload what the server lacks: all of it or nothing.

    DIR is a package folder, an archive, or a folder of packages. Publishing again uploads nothing. A version that the
    server has with other content is refused: raise 'Version' in the manifest.

    \b
    Examples:
      vetro package publish ./com.example.Web
      vetro package publish ./apps --category Databases --public
    """
    with out.explained(), need_server(_WHAT) as client:
        own = load_packages(dirs)
        if not (no_check or options["allow_missing"]):
            package_transfer.check_all(client, dirs, own)
        try:
            done = package_transfer.publish(client, package_transfer.built(own), **options, check_only=dry_run)
        except Refused as error:
            package_transfer.refused(error)
    if output != "table":
        out.print_data(done, output)
    elif dry_run:
        package_transfer.show_import_report(done)
    else:
        package_transfer.show_published(done)
    if not done.get("check", {}).get("ok", True):
        raise SystemExit(out.FAILED)


@click.command("list")
@click.option("--search", "words", default="", metavar="WORDS", help="Only what these words find, the best first.")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="Only of this category. Repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="Only with this tag. Repeatable.")
@click.option("--type", "type_", type=click.Choice(("Application", "Library")), help="Only of this type.")
@click.option("--class", "class_name", metavar="CLASS", help="Only those that have this class.")
@click.option("--own", is_flag=True, help="Only those of your project.")
@click.option("--all-versions", is_flag=True, help="All versions instead of the newest of each package.")
@click.option("--disabled", is_flag=True, help="Also those that are switched off.")
@context_option
@out.output_option("table", "json", "yaml")
def list_command(words: str, output: str, **filters: Any) -> None:
    """List the packages of a server that you can see."""
    _list(words, output, **filters)


@click.command("search")
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--all-versions", is_flag=True, help="All versions instead of the newest of each package.")
@context_option
@out.output_option("table", "json", "yaml")
def search_command(words: tuple[str, ...], output: str, all_versions: bool) -> None:
    """Find packages by words of their names, descriptions, tags, authors and classes."""
    _list(",".join(words), output, all_versions=all_versions)


def _list(words: str, output: str, **filters: Any) -> None:
    asked: dict[str, Any] = {
        "search": words or None,
        "category": list(filters.get("categories") or ()),
        "tag": list(filters.get("tags") or ()),
        "type": filters.get("type_"),
        "class": filters.get("class_name"),
        "owned": filters.get("own") or None,
        "all_versions": filters.get("all_versions") or None,
        "disabled": filters.get("disabled") or None,
    }
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/packages", **asked, limit=200))
    empty = "nothing is found" if any(asked.values()) else "no packages yet; 'vetro package publish DIR' uploads some"
    print_rows(rows, _COLUMNS, output, empty=empty, head=_HEAD, wide=_WIDE)


@click.command("show")
@click.argument("name", metavar="NAME[/VERSION]", shell_complete=packages)
@click.option("--classes", is_flag=True, help="Show its classes with what they inherit.")
@click.option("--usage", is_flag=True, help="Show which environments and packages use it.")
@context_option
@out.output_option("table", "json", "yaml")
def show_command(name: str, classes: bool, usage: bool, output: str) -> None:
    """Show a package of a server: the newest version, or the one named. NAME may also be its id."""
    if classes and usage:
        raise click.UsageError("use one of --classes and --usage")
    with out.explained(), need_server(_WHAT) as client:
        row = find.package(client, name)
        if classes:
            found = list(client.items(f"/packages/{row['id']}/classes"))
            print_rows(found, ("name", "ancestors", "abstract"), output, empty="no classes")
            return
        if usage:
            print_usage(client.get(f"/packages/{row['id']}/usage"), output)
            return
    if output == "table":
        row["versions"] = [v["version"] for v in row["versions"]]
        row["requires"] = [f"{required} {spec}".strip() for required, spec in row["requires"].items()]
        row["findings"] = [f"{f['severity']} {f['code']}: {f['message']}" for f in row["findings"]]
        row["compatibility"] = package_transfer.compatibility_lines(row.get("compatibility"))
        row["changes"] = [_change(release, one) for release in row["changes"] for one in release["changes"]]
    print_one(row, output)


def _change(release: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    text = one["text"].get("") or one["text"].get("en") or next(iter(one["text"].values()))
    return f"{release['version']} {one['kind']}: {text}"


def print_usage(found: Mapping[str, Any], output: str) -> None:
    """Who uses a package."""
    if output != "table":
        out.print_data(found, output)
        return
    rows = [
        ("environment", marked(one["environment"], one["simulated"]), one["version"]) for one in found["environments"]
    ]
    rows += [("package", p["fqn"], p["version"]) for p in found["required_by"]]
    if rows:
        out.print_table(("used by", "name", "version"), rows)
    else:
        out.note("nobody uses it")


@click.command("download")
@click.argument("name", metavar="NAME[/VERSION]", shell_complete=packages)
@click.option("--out", "target", metavar="FILE", type=click.Path(), help="The archive.  [default: NAME-VERSION.zip]")
@click.option("--force", is_flag=True, help="Replace FILE where it is there already.")
@context_option
def download_command(name: str, target: str | None, force: bool) -> None:
    """Fetch the archive of a package; print its path."""
    with out.explained(), need_server(_WHAT) as client:
        row = find.package(client, name)
        path = target or f"{row['fqn']}-{row['version']}.zip"
        data = fetch(client, row)
        try:
            with open(path, "wb" if force else "xb") as file:
                file.write(data)
        except FileExistsError:
            out.fail(f"{path} is there already", "give another name with --out, or --force")
    out.echo(path)


@click.command("change")
@click.argument("name", metavar="NAME[/VERSION]", shell_complete=packages)
@click.option("--public/--private", "public", default=None, help="Show it to all projects, or to your own only.")
@click.option("--enable/--disable", "enabled", default=None, help="Offer it, or do not.")
@click.option("--title", metavar="TEXT", help="What people see as its name.")
@click.option("--description", metavar="TEXT", help="What it is.")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="Its categories from now on. Repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="Its tags from now on. Repeatable.")
@click.option("--force", is_flag=True, help="Also where that leaves requirements of packages unmet.")
@_anyway
@context_option
@out.output_option("table", "json", "yaml")
def change_command(
    name: str,
    public: bool | None,
    enabled: bool | None,
    title: str | None,
    description: str | None,
    categories: Sequence[str],
    tags: Sequence[str],
    force: bool,
    anyway: bool,
    output: str,
) -> None:
    """Change how a package is presented and who sees it. What it contains never changes."""
    given: dict[str, Any] = {"public": public, "enabled": enabled, "name": title, "description": description}
    given |= {"categories": list(categories) or None, "tags": list(tags) or None}
    wanted = {key: value for key, value in given.items() if value is not None}
    if not wanted:
        raise click.UsageError("say what to change: 'vetro package change --help' lists it")
    with out.explained(), need_server(_WHAT) as client:
        row = find.package(client, name)
        asked = {"force": True if force else None, "anyway": True if anyway else None}
        try:
            changed = client.patch(f"/packages/{row['id']}", wanted, **asked)
        except Refused as error:
            package_transfer.refused(error)
    shown = ("id", "fqn", "version", "name", "description", "enabled", "public", "categories", "tags")
    print_one(changed, output, shown)


@click.command("delete")
@click.argument("names", nargs=-1, required=True, metavar="NAME[/VERSION]...", shell_complete=packages)
@click.option("--force", is_flag=True, help="Also where other packages require it (administrators).")
@context_option
def delete_command(names: tuple[str, ...], force: bool) -> None:
    """Remove packages from a server. Environments that use them keep them.

    A package of which there are several versions is deleted with its version: NAME/VERSION.
    """
    with out.explained(), need_server(_WHAT) as client:
        rows = [find.package(client, name) for name in names]
        for name, row in zip(names, rows, strict=True):
            if name == row["fqn"] and len(row["versions"]) > 1:
                there = ", ".join(v["version"] for v in row["versions"])
                count = len(row["versions"])
                raise find.NotFound(f"package '{name}' has {count} versions", f"say which, {name}/VERSION: {there}")
        for row in rows:
            client.delete(f"/packages/{row['id']}", force=True if force else None)
            out.note(f"{row['fqn']} {row['version']} is removed")


@click.command("import")
@click.argument("address", metavar="URL")
@click.option("--name", "names", multiple=True, metavar="NAME[/VERSION]", help="Take this from the repository URL.")
@click.option("--bundle", is_flag=True, help="URL is a bundle: a list of packages.")
@_import_options
@context_option
@out.output_option("table", "json", "yaml")
def import_command(
    address: str,
    names: tuple[str, ...],
    bundle: bool,
    output: str,
    **options: Any,
) -> None:
    """Let the server fetch an archive from URL, packages of a repository, or a bundle.

    The server does it, as far as its setting 'packages.import_hosts' allows. Archives on this machine are uploaded by
    'vetro package publish'.
    """
    if names and bundle:
        raise click.UsageError("use one of --name and --bundle")
    body = options | ({"repository": address, "names": names} if names else {"bundle" if bundle else "url": address})
    with out.explained(), need_server(_WHAT) as client:
        try:
            done = client.post_long("/packages/import", body)
        except Refused as error:
            package_transfer.refused(error)
    if output != "table":
        out.print_data(done, output)
    else:
        package_transfer.show_published({**done, "present": done["skipped"]})
