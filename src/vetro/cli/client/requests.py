"""`Client`: requests to /v2 of a server, and what went wrong with them in words."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from vetro import __version__
from vetro.cli.client.contexts import Context
from vetro.cli.output import note, quoted
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    import httpx  # it takes longer to import than commands about this machine may wait for it

#: Seconds for a connection and for an answer; uploads and answers of long work get more.
CONNECT, ANSWER, LONG = 10.0, 60.0, 600.0
#: Pauses before a read is tried again, in seconds.
AGAIN = (0.2, 0.5, 1.0, 2.0)
#: The header of answers about something simulated (`vetro.server.environments.simulation`), and what that means.
_SIMULATED = "Vetro-Simulated"
NOTHING_EXISTS = "nothing of it exists: its cloud writes down what it would do"


class ClientError(VetroError):
    """A server could not be asked."""

    code = "CLI130"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Unreachable(ClientError):
    """There is no way to the server: wrong address, nobody listens, no network, no answer in time."""

    kind = "unavailable"
    code = "CLI131"


class Untrusted(ClientError):
    """The server's certificate is not to be trusted."""

    kind = "unavailable"
    code = "CLI132"


class SignedOut(ClientError):
    """The server does not take the token: it has expired or was revoked."""

    kind = "forbidden"
    code = "CLI133"


class Refused(ClientError):
    """The server said no. `status` is its HTTP status, `answered` its own code, `details` what it says besides."""

    kind = "error"
    code = "CLI134"

    def __init__(self, status: int, message: str, hint: str | None, answered: str = "", details: Any = None) -> None:
        super().__init__(message, hint)
        self.status = status
        self.answered = answered
        self.details = details


class NoServer(ClientError):
    """The command is about a server, and this machine's workspace is the context."""

    kind = "bad-argument"
    code = "CLI135"


class Client:
    """One server. A context manager; `get`, `post`… give the data of the answer and raise `ClientError`."""

    #: Whether answers were about something simulated, and whether the command has said so itself.
    _simulated = False
    said_simulated = False
    #: Whether this is no server but a workspace of this machine (`vetro.cli.client.local`).
    local = False

    def __init__(self, context: Context, *, timeout: float = ANSWER, connect: float = CONNECT, again: bool = True):
        import httpx

        self.context = context
        self._again = AGAIN if again else ()
        headers = {"User-Agent": f"vetro/{__version__}", "Accept": "application/json"}
        if context.token:
            headers["X-Auth-Token"] = context.token
        self.http = httpx.Client(
            base_url=context.url,
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=connect),
            verify=_trusted(context),
            follow_redirects=False,  # a token goes to nobody else
        )
        self._errors = (httpx.HTTPError, httpx.InvalidURL, OSError)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()

    def get(self, path: str, **params: Any) -> Any:
        """The data at a path of /v2. Tried again while the server cannot be reached."""
        return self.data(self.send("GET", path, params=_params(params)))

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        """What a POST answers."""
        return self.data(self.send("POST", path, json=body, params=_params(params)))

    def post_long(self, path: str, body: Any) -> Any:
        """What a POST answers that may take minutes."""
        return self.data(self.send("POST", path, json=body, timeout=LONG))

    def events(self, path: str, body: Any) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """The events that a POST answers as they come, kind and data; kinds that are '' say nothing."""
        try:
            with self.http.stream("POST", f"/v2{path}", json=body) as response:
                if response.status_code >= 300:
                    response.read()
                    raise _refusal(self.context, response)
                kind = ""
                for line in response.iter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        yield kind, json.loads(value)
        except self._errors as error:
            raise failure_of(self.context, error) from None

    def put(self, path: str, body: Any, **params: Any) -> Any:
        """What a PUT answers."""
        return self.data(self.send("PUT", path, json=body, params=_params(params)))

    def patch(self, path: str, body: Any, **params: Any) -> Any:
        """What a PATCH answers."""
        return self.data(self.send("PATCH", path, json=body, params=_params(params)))

    def delete(self, path: str, **params: Any) -> Any:
        """What a DELETE answers; None for nothing."""
        return self.data(self.send("DELETE", path, params=_params(params)))

    def content(self, path: str) -> bytes:
        """The bytes at a path: an archive, a file."""
        return self.send("GET", path, timeout=LONG).content

    def upload(
        self, path: str, archives: Mapping[str, bytes], fields: Mapping[str, Any] | None = None, part: str = "archive"
    ) -> Any:
        """What the server says to a form of files, whose parts are called ``part``, and fields."""
        files: list[Any] = [(part, (name, data, "application/zip")) for name, data in archives.items()]
        values = {key: _field(value) for key, value in (fields or {}).items() if value not in (None, [], ())}
        if not files:  # fields alone would not go as a form of parts
            files, values = [(key, (None, value)) for key, value in values.items()], {}
        return self.data(self.send("POST", path, files=files, data=values, timeout=LONG))

    def put_part(self, path: str, data: bytes, **params: Any) -> Any:
        """What a PUT of bytes answers."""
        headers = {"Content-Type": "application/octet-stream"}
        return self.data(self.send("PUT", path, content=data, params=_params(params), headers=headers, timeout=LONG))

    @contextmanager
    def parts(self, path: str) -> Iterator[Iterator[bytes]]:
        """The bytes at a path as they come: of a file that may be large."""
        try:
            with self.http.stream("GET", f"/v2{path}", timeout=LONG) as response:
                if response.status_code >= 300:
                    response.read()
                    raise _refusal(self.context, response)
                yield response.iter_bytes(1 << 20)
        except self._errors as error:
            raise failure_of(self.context, error) from None

    def items(self, path: str, *, most: int | None = None, **params: Any) -> Iterator[dict[str, Any]]:
        """The items of a list, page after page."""
        cursor, count = None, 0
        while True:
            page = self.get(path, **params, cursor=cursor)
            for item in page["items"]:
                yield item
                count += 1
                if most is not None and count >= most:
                    return
            cursor = page.get("next")
            if cursor is None:
                return

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request; its answer is no error. Raises `ClientError`."""
        if options.get("json") is None:
            options.pop("json", None)
        pauses = iter(self._again if method == "GET" else ())
        while True:
            try:
                response = self.http.request(method, f"/v2{path}", **options)
            except self._errors as error:
                failure = failure_of(self.context, error)
                pause = next(pauses, None)
                if pause is None or isinstance(failure, Untrusted):
                    raise failure from None
            else:
                pause = next(pauses, None) if response.status_code in (502, 503, 504) else None
                if pause is None:
                    break
            time.sleep(pause)
        if response.status_code < 300:
            if _SIMULATED in response.headers:
                self.note_simulated()
            return response
        raise _refusal(self.context, response)

    def note_simulated(self) -> None:
        """An answer was about something that does not exist: the command says so at its end, unless it does itself."""
        context = click.get_current_context(silent=True)
        if not self._simulated and context is not None:
            context.call_on_close(self._say_simulated)
        self._simulated = True

    def _say_simulated(self) -> None:
        if not self.said_simulated:
            note(f"simulated: {NOTHING_EXISTS}")

    def data(self, response: httpx.Response) -> Any:
        """The JSON of an answer; None for an empty one."""
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise _stranger(self.context, "it does not answer with JSON") from None


def login_again(context: Context) -> str:
    """The command that signs in where one was signed in before."""
    user = f" --user {quoted(context.user)}" if context.user else ""
    return f"vetro login {context.url} --name {context.name}{user}"


def _params(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in params.items() if value not in (None, (), [])}


def _field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return list(value) if isinstance(value, (list, tuple)) else str(value)


def _trusted(context: Context) -> Any:
    if not context.url.startswith("https:"):
        return False
    try:
        return ssl.create_default_context(cafile=context.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise Untrusted(f"the certificates in {context.ca_file} cannot be read: {text}") from None


def failure_of(context: Context, error: Exception) -> ClientError:
    """What went wrong with a request that got no answer."""
    import httpx

    where = f"{context.url} (context '{context.name}')"
    text = str(error)
    if "CERTIFICATE" in text.upper() or isinstance(error.__cause__, ssl.SSLCertVerificationError):
        why = text.partition("certificate verify failed: ")[2].rpartition(" (_ssl")[0] or text
        hint = "give the file of its certificate authority: vetro login URL --ca-file FILE"
        return Untrusted(f"the certificate of {where} is not trusted: {why}", hint)
    if "SSL" in text.upper():
        return Untrusted(f"no encrypted connection to {where}: {text}", "does the address begin with http:// instead?")
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(f"{where} did not answer in time", "is it overloaded? Try again")
    hint = "does 'vetro serve' run there? 'vetro context list' shows the addresses"
    if isinstance(error, (httpx.ConnectError, OSError)):
        return Unreachable(f"{where} cannot be reached: {text or type(error).__name__}", hint)
    return Unreachable(f"the connection to {where} broke off: {text or type(error).__name__}", hint)


def _refusal(context: Context, response: httpx.Response) -> ClientError:
    try:
        found = response.json()["error"]
        message, hint = str(found["message"]), found.get("hint")
    except (ValueError, KeyError, TypeError):
        if response.is_redirect:
            return _stranger(context, f"it sends to {response.headers.get('location', 'elsewhere')}")
        return _stranger(context, f"it answers {response.status_code} without saying why")
    if response.status_code == 401 and context.token:
        return SignedOut(f"{context.url} does not take your token: {message}", login_again(context))
    return Refused(response.status_code, message, hint, str(found.get("code", "")), found.get("details"))


def _stranger(context: Context, why: str) -> ClientError:
    return Unreachable(f"{context.url} is no Vetro server: {why}", "give the address that 'vetro serve' prints")


def compact(value: Any) -> str:
    """A value in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
