"""What templates of fields show: `Control`, made by `controls`, under the headings of a `Group`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field as _made

from django.utils.safestring import SafeString

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic
from vetro.forms.model import Field
from vetro.server.language import translated

#: Characters of a description that is shown as a whole.
LONG = 240
_NOTHING = SafeString()


@dataclass(frozen=True, slots=True)
class Option:
    """One line of a drop-down list."""

    value: str
    label: str
    selected: bool = False
    disabled: bool = False


@dataclass(slots=True)
class Control:
    """One field as its template shows it. ``name``: of its input; ``place``: as names of inputs below it begin."""

    id: str
    path: str
    place: str
    name: str
    field: Field
    template: str
    text: str = ""
    attributes: SafeString = _NOTHING
    #: Whether it is one input with a label, not a group of them.
    single: bool = True
    options: Sequence[tuple[str | None, Sequence[Option]]] = ()
    checked: bool = False
    #: (name, value) of inputs that travel along.
    hidden: list[tuple[str, str]] = _made(default_factory=list)
    #: Items of a list, entries of a map, in order; fields of an object by section.
    items: list[Control] = _made(default_factory=list)
    groups: list[Group] = _made(default_factory=list)
    #: Of an entry: the input of its key.
    key_name: str = ""
    #: What the buttons for adding and moving say to the server.
    add: str = ""
    remove: str = ""
    up: str = ""
    down: str = ""
    #: What a search for more to choose from is about: "existing types", "choices"; empty: all is there.
    search: str = ""
    #: (what the button says, title) of packages from which an application can be added for a definition's field.
    creates: list[tuple[str, str]] = _made(default_factory=list)
    #: Name of the input that takes a secret away.
    gone: str = ""
    #: Whether a password can be made for it.
    made_up: bool = False
    class_name: str = ""
    #: Of a file: where its parts go to, empty where none can be given; bytes at most; (name, bytes) of what is there.
    upload: str = ""
    most: int = 0
    given: tuple[str, int] | None = None
    #: Of an object that is folded: what in it has to be filled in still.
    missing: Sequence[str] = ()
    mark: str = ""

    @property
    def shown(self) -> bool:
        """Whether there is anything to be seen of it."""
        return self.field.visible

    @property
    def file(self) -> str:
        """The template of what is entered."""
        return f"web/fields/{self.template}.html"

    @property
    def readonly(self) -> bool:
        """Whether it is shown only."""
        return self.field.read_only or not self.field.enabled

    @property
    def long(self) -> bool:
        """Whether its description is folded at first."""
        return len(self.field.description) > LONG

    @property
    def rows(self) -> int:
        """Lines of a long text."""
        return min(max(self.text.count("\n") + 2, 3), 20)

    @property
    def chosen(self) -> str:
        """The value of a choice."""
        return next((o.value for _, rows in self.options for o in rows if o.selected), "")


@dataclass(slots=True)
class Group:
    """Controls under one heading."""

    title: str
    description: str
    controls: list[Control]
    #: Those that most people never need.
    advanced: list[Control] = _made(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether those have something to say."""
        return any(control.field.problems for control in every(self.advanced))


def every(controls: Iterable[Control]) -> Iterator[Control]:
    """Controls with all that are in them."""
    for control in controls:
        yield control
        yield from every(control.items)
        for group in control.groups:
            yield from every((*group.controls, *group.advanced))


def top(groups: Iterable[Group]) -> Iterator[Control]:
    """The controls of a page, without those in them."""
    for group in groups:
        yield from group.controls
        yield from group.advanced


def told_problems(problems: Sequence[Diagnostic], known: Mapping[str, Control]) -> list[tuple[Diagnostic, str, str]]:
    """(problem, id of the nearest field, what people call that); empty for what belongs to none of the ``known``
    controls."""
    made = []
    for problem in problems:
        steps = problem.place.split("/")[1:]
        above = (known.get("/" + "/".join(steps[:n])) for n in range(1, len(steps) + 1))
        around = [control for control in above if control is not None]
        names = [translated(control.field.label) for control in around if control.field.label]
        target = around[-1] if around else None
        made.append((problem, target.id if target is not None and target.shown else "", " / ".join(names)))
    return made
