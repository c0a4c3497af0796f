"""`vetro package new|build|reference|texts`: packages as folders and archives of this machine."""

from __future__ import annotations

import os
import sys

import click

from vetro.cli import output as out
from vetro.cli.package_paths import extended, load_packages, source_finder
from vetro.library import core_packages
from vetro.muranopl import Engine
from vetro.packages.archive import ArchiveTree
from vetro.packages.build import build_archive, build_tree
from vetro.packages.hot.package_files import build_template
from vetro.packages.manifest import parse_manifest
from vetro.packages.paths import MANIFEST
from vetro.packages.reference import pages
from vetro.packages.reference import reference as page
from vetro.packages.scaffold import full_name_of, skeleton
from vetro.packages.texts import missing, sources, translations
from vetro.packages.texts import skeleton as skeleton_of


@click.command("new")
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    metavar="FOLDER",
    type=click.Path(),
    help="Where to put it: a new or empty folder.  [default: the package's name]",
)
def new(name: str, folder: str | None) -> None:
    """Make a small package that checks, tests and runs at once.

    NAME is the full name, for example com.example.Web; a single word is put below com.example. The package has a
    manifest, an application class with an action, a test fixture and a form.

    \b
    Examples:
      vetro package new com.example.Web
      vetro package new Web --dir ./web
    """
    with out.explained():
        full_name = full_name_of(name)
        target = folder or full_name
        files = skeleton(name, target)
    for file in files:
        out.echo(os.path.join(target, os.path.relpath(file, os.path.abspath(target))))
    shown = out.quoted(target)
    out.note(f"{full_name} is made. Next: vetro check {shown}; vetro test {shown}")


@click.command("build")
@click.argument("dirs", nargs=-1, metavar="DIR...", type=click.Path())
@click.option(
    "-o",
    "--out",
    "target",
    metavar="OUT",
    type=click.Path(),
    help="Folder for the archives; for a single package also a file name that ends in .zip.  [default: .]",
)
@click.option("--dev", is_flag=True, help="Build folders named 'dev', too.")
@click.option("--template", metavar="FILE", type=click.Path(), help="Build from this Heat template instead of folders.")
@click.option("--name", help="With --template: the title of the package.  [default: the template's file name]")
@click.option("--full-name", metavar="NAME", help="With --template: the full name, for example com.example.Web.")
@click.option("--version", metavar="VERSION", help="With --template: the version.  [default: 0.0.0]")
@click.option("--author", metavar="TEXT", help="With --template: the author.")
@click.option("--logo", metavar="FILE", type=click.Path(), help="With --template: a PNG picture.")
@click.option(
    "--resources",
    metavar="FOLDER",
    type=click.Path(),
    help="With --template: a folder that holds HotFiles and HotEnvironments.",
)
def build(
    dirs: tuple[str, ...],
    target: str | None,
    dev: bool,
    template: str | None,
    name: str | None,
    full_name: str | None,
    version: str | None,
    author: str | None,
    logo: str | None,
    resources: str | None,
) -> None:
    """Build archives from package folders or from a Heat template; print their paths.

    DIR is a package folder, or a folder with packages below it. Of a versioned tree (App/1.0.0, App/1.1.0, App/dev)
    every released folder gives one archive; a folder named after another version than its manifest says is refused.
    The same files always give the same bytes.

    \b
    Examples:
      vetro package build ./com.example.Web
      vetro package build ./apps -o dist
      vetro package build --template wordpress.yaml --full-name com.example.WordPress
    """
    if template is None:
        only = {"--name": name, "--full-name": full_name, "--version": version, "--author": author, "--logo": logo}
        for option, value in {**only, "--resources": resources}.items():
            if value is not None:
                raise click.UsageError(f"{option} is for --template: a folder has a manifest that says it")
        if not dirs:
            raise click.UsageError("name the folder of a package, or give a Heat template with --template")
        with out.explained():
            _build_folders(dirs, target, dev)
        return
    if dirs or dev:
        raise click.UsageError("--template builds one package of one template: leave DIR and --dev out")
    with out.explained():
        data = build_template(
            template,
            name=name,
            full_name=full_name,
            version=version,
            author=author,
            logo=logo,
            resources=resources,
        )
        _write(data, target)


@click.command("reference")
@click.argument("names", nargs=-1, required=True, metavar="PATH...")
@click.option("--require", "others", multiple=True, metavar="PATH", type=click.Path(), help="Packages that they need.")
@click.option("--pages", "folder", metavar="FOLDER", help="Write one page a class, and index.md, there.")
def reference(names: tuple[str, ...], others: tuple[str, ...], folder: str | None) -> None:
    """Print a page about the classes of packages: properties, methods, contracts, and the comments above them.

    PATH is a package folder, an archive, a folder of packages, or the name of a standard package. The page is Markdown.
    With --pages there is one page a class, of one package. Pages of classes that are gone stay.

    \b
    Examples:
      vetro package reference ./com.example.Web > web.md
      vetro package reference io.murano.applications
      vetro package reference ./com.example.Web --pages docs/web
    """
    standard = {package.name: package for package in core_packages()}
    with out.explained():
        own = load_packages(name for name in names if name not in standard)
        more = load_packages(others)
    with out.explained(source_finder([*own, *more])):
        known, extensions = extended([*own, *more])
        session = Engine(known, natives=extensions.natives).session()
        shown = [*(standard[name] for name in names if name in standard), *own]
        if folder is None:
            out.echo(page(session, shown), nl=False)
            return
        if len(shown) != 1:
            raise click.UsageError("--pages is for one package")
        os.makedirs(folder, exist_ok=True)
        for name, text in pages(session, shown[0]).items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            out.echo(os.path.normpath(os.path.join(folder, name)))


def _build_folders(dirs: tuple[str, ...], target: str | None, dev: bool) -> None:
    if target is not None and target.endswith(".zip") and not os.path.isdir(target):
        if len(dirs) != 1 or not os.path.isfile(os.path.join(dirs[0], MANIFEST)):
            raise click.UsageError("--out names a file: that is for a single package folder; name a folder instead")
        _write(build_archive(dirs[0]), target)
        return
    for built in build_tree(dirs, target or ".", dev):
        out.echo(os.path.normpath(built.path))


def _write(data: bytes, target: str | None) -> None:
    path = target or "."
    if os.path.isdir(path) or not path.endswith(".zip"):
        manifest = parse_manifest(ArchiveTree(data).read(MANIFEST), MANIFEST)
        path = os.path.join(path, f"{manifest.full_name}.{manifest.version}.zip")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    out.echo(os.path.normpath(path))


@click.command("texts")
@click.argument("path", metavar="PATH")
@click.option("--language", default="de", show_default=True, metavar="CODE", help="The language to translate into.")
@click.option("--all", "every", is_flag=True, help="Also texts that forms make of names, which need no translation.")
@click.option("--check", is_flag=True, help="Print what is missing, and nothing else; fail where there is something.")
def texts(path: str, language: str, every: bool, check: bool) -> None:
    """Print the texts of a package that can be translated: a file of a language with those that it lacks.

    PATH is a package folder, an archive, or the name of a standard package. What is printed belongs into
    locale/CODE.yaml of the package: each text, and after it its translation; those that the file has already keep
    theirs, the others have none.

    \b
    Examples:
      vetro package texts ./com.example.Web --language de > locale/de.yaml
      vetro package texts ./com.example.Web --check
    """
    standard = {package.name: package for package in core_packages()}
    with out.explained():
        package = standard.get(path) or load_packages([path])[0]
        known = translations(package.files).get(language, {})
        found = [one for one in sources(package) if (every or not one.derived or one.text in known)]
        left = missing(found, known)
    out.echo(out.shown(skeleton_of(left if check else found, {} if check else known)).rstrip("\n"))
    out.note(f"{out.plural(len(left), 'text')} of {len(found)} without a translation")
    if check and left:
        sys.exit(out.FAILED)
