"""Tables of the catalog (API.md 3, 4; seed 004)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.server.ids import new_id


class Category(models.Model):
    """A category; the usual nine are there from the start."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    name = models.CharField(max_length=80, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)


class Package(models.Model):
    """One version of a package in one project. Its archive lies in the blob store under ``digest``."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    project_id = models.CharField(max_length=64)
    #: Fully qualified name.
    fqn = models.CharField(max_length=512)
    version = models.CharField(max_length=128)
    #: Sorts as versions do (`catalog.versions.sort_key`).
    version_key = models.CharField(max_length=255)
    #: Display name.
    name = models.CharField(max_length=80)
    #: ``Application`` or ``Library``.
    type = models.CharField(max_length=32)
    format = models.CharField(max_length=128, default="MuranoPL")
    author = models.TextField(blank=True, default="")
    description = models.TextField(blank=True, default="")
    supplier = models.JSONField(default=dict)
    enabled = models.BooleanField(default=True)
    is_public = models.BooleanField(default=False)
    #: False: imported although requirements were missing; cannot be added to an environment.
    usable = models.BooleanField(default=True)
    #: Part of the installation (io.murano…): only an administrator's upload can replace it.
    embedded = models.BooleanField(default=False)
    #: A deployment used it: it cannot be changed any more, only superseded.
    deployed = models.BooleanField(default=False)
    #: SHA-256 and size of the archive.
    digest = models.CharField(max_length=64, db_index=True)
    size = models.BigIntegerField(default=0)
    has_ui = models.BooleanField(default=False)
    #: Digests of the pictures in the blob store; empty: none.
    logo = models.CharField(max_length=64, blank=True, default="")
    supplier_logo = models.CharField(max_length=64, blank=True, default="")
    #: What search looks through, in lower case.
    search_text = models.TextField(blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    categories = models.ManyToManyField(Category, related_name="packages")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project_id", "fqn", "version"], name="one_version_a_project")
        ]
        indexes: ClassVar = [
            models.Index(fields=["fqn", "version_key"]),
            models.Index(fields=["name", "id"]),
            models.Index(fields=["is_public", "enabled"]),
            models.Index(fields=["created"]),
        ]


class PackageClass(models.Model):
    """A class of a package. ``ancestors``: names of all classes it inherits, space-separated, as far as known."""

    package = models.ForeignKey(Package, models.CASCADE, related_name="classes")
    name = models.CharField(max_length=512, db_index=True)
    ancestors = models.TextField(blank=True, default="")
    abstract = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["package", "name"], name="one_class_a_package")]


class PackageTag(models.Model):
    """A tag of a package."""

    package = models.ForeignKey(Package, models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=255, db_index=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["package", "tag"], name="one_tag_a_package")]


class Requirement(models.Model):
    """One entry of ``Require``; ``spec`` is the text of the version spec, empty where none is given."""

    package = models.ForeignKey(Package, models.CASCADE, related_name="requirements")
    name = models.CharField(max_length=512, db_index=True)
    spec = models.CharField(max_length=255, blank=True, default="")
