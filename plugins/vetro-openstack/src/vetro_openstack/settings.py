"""What is set about an OpenStack: where it is, who we are there, in whose projects stacks are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from vetro.clouds.interface import CloudError
from vetro.yaql.didyoumean import suggest

_USER = ("username", "user_id", "password", "user_domain_id", "user_domain_name")
_SCOPE = ("project_id", "project_name", "project_domain_id", "project_domain_name", "trust_id")
_APPLICATION = ("application_credential_id", "application_credential_name", "application_credential_secret")
#: Settings that say who signs in; also those of one project in ``credentials``.
CREDENTIALS = frozenset({*_USER, *_SCOPE, *_APPLICATION})


class SettingWrong(CloudError):
    """A setting of the OpenStack cloud is unknown, missing or has a wrong value; the message names it."""

    kind = "bad-argument"
    code = "CLD300"
    hint = "docs/openstack.md lists the settings of cloud.openstack"


@dataclass(frozen=True, slots=True)
class OpenStackSettings:
    """Settings of an OpenStack cloud; `from_json` checks them. Credentials are kept out of what is printed."""

    auth_url: str
    #: Who signs in: names of `CREDENTIALS`.
    auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Whose project stacks are made in: the one that is signed in to, or that of the environment.
    projects: str = "own"
    #: Project -> credentials for it, instead of ``auth``.
    credentials: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    #: The home region ('': the only one), and further ones.
    region: str = ""
    regions: Sequence[str] = ()
    #: Which addresses of services are used: public, internal, admin.
    interface: str = "public"
    #: File with certificates of authorities; verify False accepts any certificate.
    cafile: str = ""
    verify: bool = True
    #: Seconds for one request.
    timeout: float = 60.0
    #: Minutes that Heat gives one operation on a stack.
    stack_minutes: int = 60
    #: Further tags of every stack.
    tags: Sequence[str] = ()
    router: str = "murano-default-router"
    external_network: str = "ext-net"
    create_router: bool = True
    plan_ipv4: str = "10.0.0.0"
    max_networks: int = 250
    max_hosts: int = 250
    dns_ipv4: Sequence[str] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> OpenStackSettings:
        """Settings out of plain data; credentials stand beside the rest. Raises `SettingWrong`."""
        known = {item.name: item for item in fields(cls) if item.name != "auth"}
        given: dict[str, Any] = {}
        auth: dict[str, str] = {}
        for name, value in data.items():
            if name in CREDENTIALS:
                auth[name] = _text(name, value)
            elif name in known:
                given[name] = _typed(name, value, str(known[name].type))
            else:
                close = suggest(name, [*known, *CREDENTIALS])
                raise SettingWrong(f"there is no setting '{name}'" + (f"; did you mean '{close}'?" if close else ""))
        if not str(given.get("auth_url", "")).startswith(("http://", "https://")):
            raise SettingWrong("'auth_url' must be the address of Keystone, https://…/v3")
        made = cls(auth=auth, **given)
        if made.projects not in _PROJECTS:
            raise SettingWrong(f"'projects' must be one of {', '.join(_PROJECTS)}, not '{made.projects}'")
        if made.projects == "environment" and _APPLICATION[2] in auth:
            raise SettingWrong(
                "an application credential is for one project, so 'projects' cannot be 'environment' with it; "
                "sign in with a password, or give each project its own in 'credentials'"
            )
        for tag in made.tags:
            if not isinstance(tag, str) or not tag or len(tag) > 80 or "," in tag:
                raise SettingWrong(f"a tag must be text of at most 80 characters without commas, not {tag!r}")
        _check_credentials("", auth)
        for project, own in made.credentials.items():
            if not isinstance(own, Mapping) or not set(own) <= CREDENTIALS:
                raise SettingWrong(f"'credentials' of project '{project}' may hold {', '.join(sorted(CREDENTIALS))}")
            _check_credentials(f" of project '{project}'", {**made.user(), **own})
        return made

    def user(self) -> dict[str, str]:
        """The part of ``auth`` that names a user, without a project."""
        return {name: value for name, value in self.auth.items() if name in _USER}

    def auth_for(self, project: str) -> dict[str, str]:
        """The credentials with which we act for environments of a project."""
        own = self.credentials.get(project)
        if own is not None:
            if _APPLICATION[2] in own:
                return dict(own)
            theirs = {**(self.user() if "password" not in own else {}), **own}
            named = any(name in own for name in _SCOPE)
            return theirs if named else {**theirs, "project_id": project}
        if self.projects == "environment":
            return {**self.user(), "project_id": project}
        return dict(self.auth)


_PROJECTS = ("own", "environment")


def _check_credentials(whose: str, auth: Mapping[str, str]) -> None:
    if _APPLICATION[2] in auth:
        if not {"application_credential_id", "application_credential_name"} & set(auth):
            raise SettingWrong(f"'application_credential_id'{whose} is missing")
        if "application_credential_id" not in auth and not {"username", "user_id"} & set(auth):
            raise SettingWrong(f"'application_credential_name'{whose} needs 'username' or 'user_id'")
    elif "password" not in auth or not {"username", "user_id"} & set(auth):
        raise SettingWrong(
            f"credentials{whose} are missing: 'username' and 'password', or 'application_credential_id' and "
            "'application_credential_secret'"
        )


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SettingWrong(f"'{name}' must be text")
    return value


def _typed(name: str, value: Any, wanted: str) -> Any:
    if wanted == "bool" or isinstance(value, bool):
        fits = wanted == "bool" and isinstance(value, bool)
    elif wanted in ("int", "float"):
        fits = isinstance(value, int if wanted == "int" else (int, float)) and value > 0
    elif wanted == "str":
        fits = isinstance(value, str)
    elif wanted.startswith("Sequence"):
        fits = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    else:
        fits = isinstance(value, Mapping)
    if not fits:
        words = {"bool": "true or false", "int": "a positive number", "float": "a positive number", "str": "text"}
        kind = words.get(wanted, "a list of texts" if wanted.startswith("Sequence") else "a mapping")
        raise SettingWrong(f"'{name}' must be {kind}, not {value!r}")
    return value
