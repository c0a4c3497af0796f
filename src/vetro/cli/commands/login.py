"""`vetro login`: a server as a context, with a token for it."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import click

from vetro.cli import output as out
from vetro.cli.arguments import secret_line
from vetro.cli.client.contexts import Context, check_name, find, read_contexts, write_contexts
from vetro.cli.client.requests import Client, ClientError, Refused, failure_of


@click.command("login")
@click.argument("url")
@click.option("--user", metavar="NAME", help="Your name there. The password is asked, or read with --password-stdin.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--token-stdin", is_flag=True, help="Read a token from standard input instead of making one.")
@click.option("--link", is_flag=True, help="Use a login link, asked for or read from standard input.")
@click.option("--project", metavar="NAME", help="Project to act in, when you belong to several.")
@click.option("--name", metavar="NAME", help="What the context is called.  [default: the server's host]")
@click.option("--ca-file", metavar="FILE", type=click.Path(), help="Certificates that the server's is checked against.")
@click.option("--days", type=click.IntRange(0), metavar="DAYS", help="Days until the token expires; 0: never.")
def command(
    url: str,
    user: str | None,
    password_stdin: bool,
    token_stdin: bool,
    link: bool,
    project: str | None,
    name: str | None,
    ca_file: str | None,
    days: int | None,
) -> None:
    """Sign in at the server URL and use it from now on.

    Passwords, tokens and links never stand on the command line, where others of the machine could read them: they are
    asked for without echo, or read from standard input. The token is kept in vetro/contexts.toml of your configuration
    folder, which nobody else may read.

    \b
    Examples:
      vetro login http://127.0.0.1:8082 --user ann
      vetro admin token create ann -o value | vetro login http://127.0.0.1:8082 --token-stdin
      vetro login https://vetro.example.com --link
    """
    if sum((bool(user) or password_stdin, token_stdin, link)) > 1:
        raise click.UsageError("use one of --user, --token-stdin and --link")
    if password_stdin and not user:
        raise click.UsageError("--password-stdin needs --user NAME")
    if token_stdin and days is not None:
        raise click.UsageError("--days is for a token that is made; the one you give is as it is")
    address = _address(url)
    with out.explained():
        contexts = read_contexts()
        called = check_name(name or _name_for(address, contexts))
        if ca_file is not None:
            ca_file = os.path.abspath(ca_file)
        elif called in contexts.servers and contexts.servers[called].url == address:
            ca_file = contexts.servers[called].ca_file
        blank = Context(called, address, "", ca_file=ca_file or "")
        _warn_of_plain(address)
        if token_stdin:
            token = _secret("Token")
        elif link:
            token = _by_link(blank, _secret("Login link"), project, days)
        else:
            user = user or click.prompt("Name", err=True)
            token = _by_password(blank, str(user), _secret("Password"), project, days)
        made = _checked(blank, token, project if token_stdin else None)
        contexts = read_contexts()  # another login may have been at the same time
        before = contexts.servers.get(called)
        contexts.servers[called] = made
        contexts.current = called
        write_contexts(contexts)
        find(contexts, called)
    out.note(f"signed in at {address} as {made.user}, project {made.project}; context '{called}' is in use")
    if before is not None and (before.url, before.user, before.project) != (made.url, made.user, made.project):
        out.note(
            f"it replaces {before.user} in project {before.project} at {before.url}, whose token is still good there;"
            " '--name NAME' keeps both"
        )


def _address(url: str) -> str:
    """The address of the server: scheme, host, port and path, without what may follow."""
    text = url if "://" in url else f"http{'' if _is_near(url.partition(':')[0]) else 's'}://{url}"
    parts = urlsplit(text)
    with contextlib.suppress(ValueError):
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            if parts.username or parts.password:
                raise click.UsageError("leave name and password out of URL: use --user")
            if re.search(r"/app/link/", parts.path):
                raise click.UsageError(
                    "a login link is a secret, others may see it on the command line (and your shell keeps it): "
                    "use --link, which asks for it"
                )
            path = re.sub(r"/app(/.*)?$", "", parts.path)  # an address of a page, as a browser shows it
            return f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}"
    raise click.BadParameter(f"'{url}' is no address; it looks like https://vetro.example.com", param_hint="URL")


def _is_near(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _warn_of_plain(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme == "http" and not _is_near(parts.hostname or ""):
        out.note(
            out.style("warning: ", fg="yellow") + f"{address} is not encrypted: who is on the way can read your token"
        )


def _name_for(address: str, contexts: Any) -> str:
    """The context that has this address already, else the host's name, with the port where it is taken."""
    for name, context in contexts.servers.items():
        if context.url == address:
            return str(name)
    parts = urlsplit(address)
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", parts.hostname or "").strip("-._") or "server"
    name = word if word not in (*contexts.servers, "local") else f"{word}-{parts.port or parts.scheme}"
    return name[:63]


def _secret(label: str) -> str:
    text = secret_line(label)
    return text.strip() if label != "Password" else text


def _label() -> str:
    return f"vetro on {socket.gethostname()}"[:255]


def _by_password(context: Any, user: str, password: str, project: str | None, days: int | None) -> str:
    body: dict[str, Any] = {"name": user, "password": password, "token_name": _label()}
    body |= {key: value for key, value in (("project", project), ("days", days)) if value is not None}
    with Client(context) as client:
        return str(client.post("/auth/login", body)["token"])


def _by_link(context: Any, link: str, project: str | None, days: int | None) -> str:
    """Uses the link up for a web session, in which a token is made."""
    code = re.fullmatch(r"(?:.*/app/link/)?(vetro_[\w-]+)/?", link)
    if code is None:
        raise ClientError("this is no login link", "it looks like https://…/app/link/vetro_…")
    with Client(context) as client:
        path = f"/app/link/{code[1]}"
        _web(client, "GET", path)
        origin = {"Origin": context.url, "Referer": f"{context.url}/app/"}
        form = {"csrfmiddlewaretoken": client.http.cookies.get("vetro_csrf", "")}
        if _web(client, "POST", path, data=form, headers=origin).status_code == 403:
            raise ClientError(
                f"the server takes no forms that come by way of {context.url}; the link was not used",
                "log in at the address that people use, 'server.public_url' in its settings",
            )
        body = {"name": _label()} | ({"project": project} if project else {}) | ({} if days is None else {"days": days})
        headers = {"X-CSRFToken": client.http.cookies.get("vetro_csrf", ""), **origin}
        try:
            return str(client.data(client.send("POST", "/tokens", json=body, headers=headers))["token"])
        except Refused as error:
            if error.status != 401:
                raise
            hint = "ask for a new one: 'vetro admin link create NAME' makes it"
            raise ClientError("the link does not sign you in: it was used, or is too old", hint) from None


def _web(client: Any, method: str, path: str, **options: Any) -> Any:
    import httpx

    try:
        return client.http.request(method, path, **options)
    except httpx.HTTPError as error:
        raise failure_of(client.context, error) from None


def _checked(blank: Any, token: str, project: str | None) -> Any:
    """The context with this token, if the server takes it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ClientError("this is no token", "it is one word; 'vetro token create' makes one")
    with Client(replace(blank, token=token)) as client:
        me = client.get("/me")
    here = me["project"]
    if project is not None and project not in (here["name"], here["id"]):
        raise ClientError(f"the token is for project '{here['name']}', not '{project}'", "leave out --project")
    return replace(blank, token=token, user=me["user"]["name"], project=here["name"])
