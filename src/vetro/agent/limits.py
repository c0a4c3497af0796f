"""What a server may say to the effects host, whichever way its words come: the local socket or a message broker.

Servers run scripts of packages as root, so whatever they send is hostile. Both transports measure it before they keep
it (`LARGEST`, `MOST_HELD`), take UTF-8 only, never unpack or decode what a sender says it is, and read JSON through
`read_json`, which counts values and depth before any object is made: sixteen megabytes of ``[[],[],...`` are five
million lists otherwise.
"""

from __future__ import annotations

import json
import re
from typing import Any

from vetro.agent.errors import MessageInvalid
from vetro.agent.guest.framing import LARGEST

__all__ = ["DEEPEST", "LARGEST", "LONGEST_NAME", "MOST_ANSWERS", "MOST_HELD", "MOST_TOKENS", "read_json", "refusal"]

#: Bytes of incomplete messages, or of messages nobody has taken yet, of all servers of an environment together.
MOST_HELD = 128 << 20
#: Longest name of a queue or a message, in characters.
LONGEST_NAME = 400
#: Queues on which one plan may be answered: that of the agent's settings and that of the plan.
MOST_ANSWERS = 2
#: Brackets, commas, colons and texts of one answer, and how deep its values may lie in each other.
MOST_TOKENS = 500_000
DEEPEST = 100

#: Whole texts, brackets and separators; a quotation mark alone begins a text that never ends.
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},:]', re.DOTALL)


def read_json(text: str | bytes | bytearray) -> Any:
    """The value of JSON in UTF-8. Raises `MessageInvalid`, before anything large is made of it."""
    try:
        if not isinstance(text, str):
            text = text.decode()
        _count(text)
        return json.loads(text, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise MessageInvalid("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise MessageInvalid(f"it is not JSON: {error}") from None


def refusal(plan: str, reason: str) -> str:
    """The answer that stands for one which was refused: who waits for it is told why."""
    body = {"Message": f"the answer of the agent was refused: {reason}", "AdditionalInfo": None}
    found = {"FormatVersion": "2.0.0", "SourceID": plan, "Action": "Execution:Result", "ErrorCode": 1, "Body": body}
    return json.dumps(found)


def _count(text: str) -> None:
    """Raises `MessageInvalid` for too many or too deep values, and for texts that do not end."""
    depth = 0
    for number, found in enumerate(_TOKENS.finditer(text)):
        if number >= MOST_TOKENS:
            raise MessageInvalid(f"it has more than {MOST_TOKENS:,} values")
        token = found.group()
        if token in "[{":
            depth += 1
            if depth > DEEPEST:
                raise MessageInvalid(f"its values are nested deeper than {DEEPEST} levels")
        elif token in "]}":
            depth -= 1
        elif token == '"':
            raise MessageInvalid("it is not JSON: a text has no end")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
