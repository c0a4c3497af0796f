"""Names and ids of inputs. A name says how its text is read: ``CODE.PATH`` (`input` reads what comes back).

PATH is the JSON pointer of the answer without its first slash; entries of maps have ``+NUMBER`` where the pointer has
their key, as keys are typed, too. CODE is a letter and what `vetro.forms.entry.read` has to know besides: ``?``
where "not set" is an answer, ``!`` where there must be one.
"""

from __future__ import annotations

import re
from typing import Final

from vetro.forms.model import FILE, Field

#: Letters of kinds of values; see `input`.
LETTERS: Final = {
    "string": "s", "text": "s", "integer": "i", "number": "n", "boolean": "b", "choice": "c", "reference": "r",
    "list": "j", "tuple": "j", "map": "j", "object": "j", "json": "j",
}  # fmt: skip
#: A text that the form itself reads: what pages of definitions take.
TEXT: Final = "t"
#: What is around values: items of a list, entries of a map, header of an object, key of an entry, marker of a secret
#: that is kept, and that it shall go; what is ticked of a list of choices.
ITEMS, ENTRIES, HEADER, KEY, KEPT, GONE, TICKED = "l", "m", "o", "x", "k", "z", "q"

_UNSAFE = re.compile(r"[^A-Za-z0-9]")


def name_of(field: Field, place: str, *, plain: bool) -> str:
    """The name of the input of a field at ``place``. ``plain``: the form reads texts by itself."""
    if plain:
        return f"{'b' if field.kind == 'boolean' else TEXT}.{place}"
    letter = "j" if field.kind == "reference" and field.widget == FILE else LETTERS[field.kind]
    return f"{letter}{'?' if field.nullable else ''}{'!' if field.required else ''}.{place}"


def element_id(path: str) -> str:
    """The id of the field at a JSON pointer: different for different pointers, and no selector has to escape it."""
    return "f-" + _UNSAFE.sub(lambda found: "-" if found.group() == "/" else f"_{ord(found.group()):x}_", path[1:])
