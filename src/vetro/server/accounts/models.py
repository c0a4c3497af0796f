"""Tables of the local accounts. Other tables name users and projects by id only: with Keystone they are not in here."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models

from vetro.server.ids import new_id


class Project(models.Model):
    """A tenant. Everything belongs to one."""

    id = models.CharField(primary_key=True, max_length=64, default=new_id)
    name = models.CharField(max_length=255, unique=True)
    description = models.TextField(blank=True, default="")
    enabled = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)


class User(AbstractBaseUser):
    """A local account. Passwords are hashed with argon2; an account without one signs in by token or link only."""

    id = models.CharField(primary_key=True, max_length=64, default=new_id)
    username = models.CharField(max_length=255, unique=True)
    email = models.EmailField(blank=True, default="")
    is_active = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)
    timezone = models.CharField(max_length=64, blank=True, default="")
    language = models.CharField(max_length=16, blank=True, default="")

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = BaseUserManager()


class Membership(models.Model):
    """A role of a user in a project: reader, member or admin (or one that a policy file knows)."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=64, default="member")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "project", "role"], name="one_membership")]


class Token(models.Model):
    """What a client sends instead of a password. Only its digest is kept; ``prefix`` lets its owner recognise it."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id)
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    project = models.ForeignKey(Project, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=255, blank=True, default="")
    #: SHA-256 of the token, in hexadecimal digits.
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True)
    revoked = models.DateTimeField(null=True)
    last_used = models.DateTimeField(null=True)
    #: The token that this one was made with: it lives no longer than that, and ends with it.
    #: Without constraint: programs of the version before remove tokens and know of no children.
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="children", db_constraint=False)
    #: A link for the first login is a token that works once.
    single_use = models.BooleanField(default=False)


class LoginFailure(models.Model):
    """A wrong password (`vetro.server.accounts.throttle`). ``address``: the part of it that counts as one."""

    at = models.DateTimeField(db_index=True)
    username = models.CharField(max_length=255)
    address = models.CharField(max_length=64)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["username", "address", "at"], name="failures_of_pair"),
            models.Index(fields=["address", "at"], name="failures_of_address"),
        ]
