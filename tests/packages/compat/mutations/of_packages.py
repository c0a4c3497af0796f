"""Operators that change a package, or what its classes are as a whole."""

from __future__ import annotations

from typing import Any

import yaml

from tests.packages.compat.mutations.sites import MAJOR, MINOR, PATCH, Site, drop, get, node, operator, put, scalar


@operator
def class_removed(site: Site) -> Any:
    def change(copied: Site) -> None:
        drop(get(copied.files["manifest.yaml"][0], "Classes"), copied.name)

    used = sum(
        site.name.rpartition(".")[2] in yaml.serialize_all(t) for t in site.files.values() if isinstance(t, list)
    )
    if len(site.package.classes) > 1 and used < 3:  # in the manifest and in its own file
        yield MAJOR, "", change


@operator
def class_added(site: Site) -> Any:
    def change(copied: Site) -> None:
        put(get(copied.files["manifest.yaml"][0], "Classes"), "x.Added", "Added.yaml")
        copied.files["Classes/Added.yaml"] = [node("{Namespaces: {=: x}, Name: Added}")]

    if site.name == next(iter(site.package.classes)):
        yield MINOR, "/x.Added", change


@operator
def base_dropped(site: Site) -> Any:
    if scalar(site.tree, "Extends").endswith("Application"):
        yield MAJOR, "", lambda copied: drop(copied.tree, "Extends")


@operator
def became_a_meta_class(site: Site) -> Any:
    if not scalar(site.tree, "Usage") and not list(site.members("Methods")) and not get(site.tree, "Extends"):
        yield MAJOR, "", lambda copied: put(copied.tree, "Usage", "Meta")


def _once(site: Site) -> bool:
    return site.name == next(iter(site.package.classes))


@operator
def type_changed(site: Site) -> Any:
    def change(copied: Site) -> None:
        manifest = copied.files["manifest.yaml"][0]
        put(manifest, "Type", "Library" if scalar(manifest, "Type") == "Application" else "Application")

    if _once(site):
        yield MAJOR, "/package", change


@operator
def requirement_added(site: Site) -> Any:
    if _once(site):
        yield (
            MINOR,
            "/package",
            lambda copied: put(copied.files["manifest.yaml"][0], "Require", "{io.murano.applications: '>=0'}"),
        )


@operator
def resource_changed(site: Site) -> Any:
    if _once(site):
        yield PATCH, "/package", lambda copied: copied.files.update({"Resources/new.txt": b"x"})
