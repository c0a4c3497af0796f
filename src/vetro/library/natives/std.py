"""The native methods of ``io.vetro.std``: what MuranoPL has no means for."""

from __future__ import annotations

import string
from typing import Any

from vetro.library.natives.common import perform
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FDict

#: Letters and digits that nobody confuses when they read them aloud: no 0 O o, 1 I l.
_SYMBOLS = "".join(sorted(set(string.ascii_letters + string.digits) - set("0Oo1Il")))
_SHORTEST, _LONGEST = 12, 128


class NotSwitchedOff(MuranoError):
    """A server may still run: its cloud does not say that it is off."""

    code = "LIB240"
    kind = "invalid-operation"


class Server:
    """What only the cloud of a server can do."""

    @method("_powerOff", params=(Param("id", Type.STR), Param("name", Type.STR)), static=True)
    def power_off(cx: Any, id: str, name: str) -> None:
        """Has the cloud switch a server off; ends when the cloud says that it is. Raises `NotSwitchedOff`."""
        why = perform(cx, "server.power", action="stop", servers=[id])["failed"].get(id)
        if why is not None:
            raise NotSwitchedOff(
                f"server '{name}' may still run: {why}",
                hint="whoever sees to it that it is off may go on without asking the cloud",
            )


class Script:
    """Scripts of the package whose code calls."""

    @method(
        "call",
        params=(
            Param("agent", Type.ANY),
            Param("name", Type.STR),
            Param("command", Type.STR, None, nullable=True),
            Param("input", Type.ANY, None, nullable=True),
            Param("user", Type.STR, None, nullable=True),
            Param("timeout", Type.INT, None, nullable=True),
            Param("modules", Type.SEQ, ()),
        ),
        static=True,
    )
    def call(
        cx: Any,
        agent: Any,
        name: str,
        command: str | None = None,
        input: Any = None,
        user: str | None = None,
        timeout: int | None = None,
        modules: tuple[str, ...] = (),
    ) -> Any:
        """Runs ``Resources/scripts/NAME`` of the calling package in a server, as root or ``user``; gives its answer.

        ``command`` is its argument, ``input`` comes as JSON on standard input, and what it writes to standard output is
        the answer, JSON, too. What it says on standard error is shown to people. Another status than 0 is an
        AgentException with the end of that. ``modules``: other files of ``Resources/scripts``, which it imports.
        """
        text, *others = (cx.type.package.resource_text(f"scripts/{one}") for one in (name, *modules))
        run = cx.resolve("io.vetro.std.Script").type_object.yaql_method("_run", cx)
        return run(agent, name, text, command, input, user, timeout, FDict(zip(modules, others, strict=True)))


class Secrets:
    """Random secrets."""

    @method("randomPassword", params=(Param("length", Type.INT, 24),), static=True)
    def random_password(cx: Any, length: int = 24) -> str:
        """Letters and digits from the host's source of randomness; of 24 a guess takes 2^138 trials.

        No program or URL takes any of them for something else. Messages show dots in its place. Raises `ValueError`
        for fewer than 12 or more than 128.
        """
        if not _SHORTEST <= length <= _LONGEST:
            raise ValueError(f"a password has {_SHORTEST} to {_LONGEST} characters, not {length}")
        found = ""
        while len(found) < length:
            data = bytes.fromhex(perform(cx, "entropy", bytes=2 * length))
            # Bytes beyond the last whole multiple would make the first symbols more likely.
            fair = 256 - 256 % len(_SYMBOLS)
            found += "".join(_SYMBOLS[byte % len(_SYMBOLS)] for byte in data if byte < fair)
        password = found[:length]
        cx.session.redaction.add(password)
        return password


__all__ = ["NotSwitchedOff", "Script", "Secrets", "Server"]
