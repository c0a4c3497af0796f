"""Tables of the catalog (API.md 3, 4)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from vetro.packages.lock import LockedPackage
from vetro.server.ids import new_id


class Category(models.Model):
    """A category; the usual nine are there from the start."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    name = models.CharField(max_length=80, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)


class Package(models.Model):
    """One version of a package in one project. Its archive lies in the blob store under ``digest``.

    Tags, categories, classes and requirements stand twice: as rows, to find packages by, and as JSON in the package
    itself, so that showing or choosing packages takes one query. `vetro.server.catalog.storage` keeps both.
    """

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    #: Empty: part of the installation.
    project_id = models.CharField(max_length=64)
    #: Fully qualified name.
    fqn = models.CharField(max_length=512)
    version = models.CharField(max_length=128)
    #: Sorts as versions do (`catalog.versions.sort_key`).
    version_key = models.CharField(max_length=255)
    prerelease = models.BooleanField(default=False)
    #: Display name, and the same in lower case, by which lists are ordered.
    name = models.CharField(max_length=80)
    sort_name = models.CharField(max_length=160)
    #: ``Application`` or ``Library``.
    type = models.CharField(max_length=32)
    format = models.CharField(max_length=128, default="MuranoPL/1.0.0")
    author = models.TextField(blank=True, default="")
    description = models.TextField(blank=True, default="")
    supplier = models.JSONField(default=dict)
    enabled = models.BooleanField(default=True)
    is_public = models.BooleanField(default=False)
    #: False: imported although requirements were missing or classes cannot be read; no deployment uses it.
    usable = models.BooleanField(default=True)
    #: Whether any class file is there and could be read: those that are not disable their class alone.
    readable = models.BooleanField(default=True)
    #: Requirements arrived after it: what its classes inherit is to be looked at again.
    unlinked = models.BooleanField(default=False, db_default=False)
    #: Part of the installation (io.murano…): only an administrator's upload can replace it.
    embedded = models.BooleanField(default=False)
    #: A deployment used it: it cannot be changed any more, only superseded.
    deployed = models.BooleanField(default=False)
    #: SHA-256 and size of the archive.
    digest = models.CharField(max_length=64, db_index=True)
    size = models.BigIntegerField(default=0)
    has_ui = models.BooleanField(default=False)
    #: Digests of the form definition and the pictures in the blob store; empty: none.
    ui = models.CharField(max_length=64, blank=True, default="")
    logo = models.CharField(max_length=64, blank=True, default="")
    supplier_logo = models.CharField(max_length=64, blank=True, default="")
    tag_names = models.JSONField(default=list)
    category_names = models.JSONField(default=list)
    class_names = models.JSONField(default=list)
    #: Package name -> version spec, as the manifest says it.
    required = models.JSONField(default=dict)
    #: Classes outside of it that its code names, where it states no requirements (formats before 1.3).
    references = models.JSONField(default=list)
    #: What `vetro check` finds in it: [{severity, code, message, position, hint}].
    findings = models.JSONField(default=list)
    #: What the version breaks (`catalog.compatibility`): a comparison, and {against, reason, forced}; empty: nothing to
    #: compare it with.
    compat = models.JSONField(default=dict, db_default={})
    #: What is new in it and the versions before, newest first (`vetro.packages.changelog`).
    changes = models.JSONField(default=list, db_default=[])
    #: What its texts are in other languages (`vetro.packages.texts`): language -> text -> translation.
    texts = models.JSONField(default=dict, db_default={})
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    categories = models.ManyToManyField(Category, related_name="packages")

    def locked(self) -> LockedPackage:
        """The archive as a lock names it."""
        return LockedPackage(self.fqn, self.version, self.digest)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project_id", "fqn", "version"], name="one_version_a_project"),
            models.UniqueConstraint(
                fields=["fqn", "version"], condition=models.Q(is_public=True), name="one_public_version"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["fqn", "-version_key", "id"], name="package_by_fqn"),
            models.Index(fields=["sort_name", "-version_key", "id"], name="package_by_name"),
            models.Index(fields=["created", "-version_key", "id"], name="package_by_time"),
            models.Index(fields=["is_public", "enabled"], name="package_by_scope"),
            models.Index(fields=["project_id", "enabled"], name="package_by_project"),
            models.Index(fields=["project_id", "size"], name="package_sizes"),
            models.Index(fields=["name"], name="package_by_exact_name"),
            models.Index(fields=["type"], name="package_by_type"),
            models.Index(fields=["id"], name="package_unlinked", condition=models.Q(unlinked=True)),
        ]


class PackageClass(models.Model):
    """A class of a package. ``abstract``: it cannot be picked (metadata classes)."""

    package = models.ForeignKey(Package, models.CASCADE, related_name="classes")
    name = models.CharField(max_length=512, db_index=True)
    abstract = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["package", "name"], name="one_class_a_package")]


class Ancestor(models.Model):
    """A class that a class inherits, near or far, by the versions that were in the catalog at its import."""

    of = models.ForeignKey(PackageClass, models.CASCADE, related_name="ancestors")
    name = models.CharField(max_length=512, db_index=True)


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


class PackageText(models.Model):
    """What search looks through, in lower case, by field. The database's own index of substrings is kept on it."""

    id = models.BigAutoField(primary_key=True)
    package = models.OneToOneField(Package, models.CASCADE, related_name="text")
    name = models.TextField()
    fqn = models.TextField()
    description = models.TextField()
    categories = models.TextField()
    tags = models.TextField()
    classes = models.TextField()
    author = models.TextField()


class SearchWord(models.Model):
    """A word of texts of packages, under one of the forms by which it is found (`vetro.server.catalog.spelling`)."""

    id = models.BigAutoField(primary_key=True)
    form = models.CharField(max_length=32)
    word = models.CharField(max_length=32)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["form", "word"], name="one_word_a_form")]


class RetiredVersion(models.Model):
    """A version that was deleted: while something uses it, only the same files can come back under its name."""

    project_id = models.CharField(max_length=64)
    fqn = models.CharField(max_length=512)
    version = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    #: What it was besides its archive; empty in rows of earlier versions.
    kept = models.JSONField(default=dict, db_default={})
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project_id", "fqn", "version"], name="one_retired_version")
        ]
