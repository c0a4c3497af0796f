"""`Stack`: the Python side of one HeatStack object: a template in memory, and what of it the cloud has already.

A push sends only the parts that were touched since the last one (`vetro.library.stackdata`), so its cost is that of the
change. Templates are frozen and shared between versions; looking for what changed compares references first.

Nothing is read until somebody needs the template: changes made before wait in a queue, so loading a model asks no
cloud. The base of a push is what the cloud has as far as this run knows: nothing before the first push of a new stack
and after a failed one (nobody knows what it left); then, and where values were set that cannot be read back, the whole
is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.stackstates import (
    MISSING,
    NOT_READ,
    HeatStackError,
    State,
    difference,
    merge,
    part_of,
    plain_parts,
    with_text_keys,
)
from vetro.library.stackdata import ENVIRONMENT, FILES, VALUES, Part, changed_digest, digest_of
from vetro.muranopl.runtime.exceptions import names_of
from vetro.yaql.values import FDict, check_depth, freeze

TEMPLATE_VERSION = "2013-05-23"


class Stack:
    """One stack; all effects go through ``effect(kind, **args)``, which adds name and region."""

    def __init__(self, session: Any, name: str, region: str | None, description: str | None) -> None:
        self.session = session
        self.name = name
        self.region = region
        self.description = description
        self.forget()
        #: Pushes begun, and the last one that failed: (its number, its error).
        self._begun = 0
        self._failed: tuple[int, Exception] | None = None
        self._waits_for_end = False

    def effect(self, kind: str, **args: Any) -> Any:
        """Performs an effect of this stack."""
        return self.session.perform(kind, {"name": self.name, "region": self.region, **args})

    # -- in memory -----------------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Lets go of everything that is in memory, changes included."""
        self.template: FDict | None = None
        self.values: Mapping[str, Any] = FDict()
        self.files: Mapping[str, Any] = FDict()
        self.environment: Any = None
        self.dirty = False
        #: An asynchronous push was asked for and is still to be made.
        self.pending = False
        self._queue: list[tuple[Mapping[str, Any], Any, Any]] = []
        self._touched: set[Part] = set()
        self._base: State | None = None
        self._outputs: FDict = FDict()
        self._known: str | None = None

    def read(self) -> FDict:
        """The template; the first time the cloud is asked for it. ``{}`` when there is no such stack."""
        template = self._loaded()
        if self._queue:
            while self._queue:
                self._merge(*self._queue.pop(0))
            template = self._loaded()
        return template

    def _loaded(self) -> FDict:
        if self.template is None:
            with self.session.scheduler.mutex(("read stack", id(self))):
                if self.template is None:
                    self._take(self.effect("stack.read", wait=True))
        assert self.template is not None
        return self.template

    def _take(self, found: Mapping[str, Any] | None) -> None:
        if found is None:
            self.template = FDict()
            return
        # Pseudo parameters come from the cloud itself.
        given = found.get("parameters") or {}
        self.values = FDict({key: freeze(value) for key, value in given.items() if not key.startswith("OS::")})
        self._outputs = freeze(found.get("outputs") or {})
        template: FDict = freeze(found.get("template") or {})
        self._known = found.get("digest")
        if self._known is not None:
            self._base = State(template, self.values, self.files, None, self._known, complete=False)
        # A stack that failed is to be pushed again, even if nothing changes.
        self.dirty = str(found.get("status", "")).endswith("_FAILED")
        self.template = template

    def update(self, template: Mapping[str, Any], owners: Any = None, writer: Any = None) -> None:
        """Merges a template into the one in memory. Raises `HeatStackError` for another template version.

        With ``owners`` what the object ``writer`` replaces must not be another component's.
        """
        version = template.get("heat_template_version", TEMPLATE_VERSION)
        if str(version) != TEMPLATE_VERSION:
            raise HeatStackError(f"templates of version {version} cannot be merged, only {TEMPLATE_VERSION}")
        check_depth(template)
        template = with_text_keys(template)
        if self.template is None:
            self._queue.append((template, owners, writer))
        else:
            self.read()
            self._merge(template, owners, writer)

    def _merge(self, template: Mapping[str, Any], owners: Any, writer: Any) -> None:
        assert self.template is not None
        if owners is not None:
            owners.merging(writer, _resources(self.template), _resources(template))
        changed: dict[str, Any] = {}
        for section, content in template.items():
            old = self.template.get(section, MISSING)
            new = content if old is MISSING else merge(old, content)
            if new is not old:
                changed[section] = new
                keys = content if isinstance(content, dict) and isinstance(old, dict) else None
                self._touch(section, old, new, keys)
        if changed:
            self.template = FDict({**self.template, **changed})
            self.dirty = True

    def _touch(self, section: str, old: Any, new: Any, keys: Any = None) -> None:
        """Notes what may differ between two versions of a section; ``keys``: only these of a mapping."""
        mappings = [value for value in (old, new) if isinstance(value, dict)]
        if len(mappings) < 2:
            self._touched.add(("", section))
        if keys is not None and len(mappings) == 2:
            self._touched.update((section, key) for key in keys)
        elif len(mappings) == 2:
            for mapping, other in (mappings, mappings[::-1]):
                self._touched.update((section, k) for k, v in mapping.items() if other.get(k, MISSING) is not v)
        elif mappings:
            self._touched.update((section, key) for key in mappings[0])

    def replace(self, template: Mapping[str, Any], owners: Any = None, writer: Any = None) -> None:
        """Replaces the template and clears the parameters; ``owners`` and ``writer`` as with `update`."""
        check_depth(template)
        template = with_text_keys(template)
        old: Mapping[str, Any] = self.read()
        if owners is not None:
            owners.replacing(writer, _resources(old), _resources(template))
        for section in {**old, **template}:
            before, after = old.get(section, MISSING), template.get(section, MISSING)
            if before is not after:
                self._touch(section, before, after)
        self.template = template if isinstance(template, FDict) else FDict(template)
        self.set_values(FDict())

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Replaces the values of parameters."""
        self.read()
        self._touched.update((VALUES, key) for key in {**self.values, **values})
        self.values = values
        self.dirty = True

    def set_files(self, files: Mapping[str, Any]) -> None:
        """Replaces the files that the template refers to."""
        self.read()
        self._touched.update((FILES, key) for key in {**self.files, **files})
        self.files = files
        self.dirty = True

    def set_environment(self, environment: Any) -> None:
        """Replaces the environment text; null is none."""
        self.read()
        self._touched.add((ENVIRONMENT, ""))
        self.environment = environment
        self.dirty = True

    # -- to the cloud --------------------------------------------------------------------------------------------------

    def push_later(self) -> None:
        """Puts a push off until the next one, until somebody asks for outputs, or until the end of the run."""
        self.read()
        if self.dirty:
            self._put_off()

    def _put_off(self) -> None:
        self.pending = True
        if not self._waits_for_end:
            self._waits_for_end = True
            self.session.at_end(self._at_end)

    def _at_end(self) -> None:
        self._waits_for_end = False
        self.settle()

    def settle(self) -> None:
        """Makes the push that was put off, if there is one."""
        if self.pending:
            self.push()

    def push(self) -> None:
        """Brings the cloud in line with what is in memory; nothing when nothing changed.

        While another branch pushes this waits, then pushes what has come together meanwhile. Raises what the cloud
        says, also when that push of another branch held this one's changes and failed.
        """
        if self.template is None and not self._queue:
            return
        asked = self._begun
        with self.session.scheduler.mutex(("push stack", id(self))):
            if self._failed is not None and self._failed[0] > asked:
                raise _again(self._failed[1])
            self.read()
            if self.dirty:
                self._push()

    def _push(self) -> None:
        self._begun += 1
        self.dirty = self.pending = False
        touched, self._touched = self._touched, set()
        try:
            if self.template and (self.template.get("resources") or self.template.get("Resources")):
                self._send(touched)
            else:
                self.effect("stack.delete")
                self._base, self._outputs, self._known = None, FDict(), None
            self._failed = None
        except BaseException as error:
            self.dirty = True
            self._base = None
            if isinstance(error, Exception):
                _name(error)
                self._failed = (self._begun, error)
                self._try_again()
            raise

    def _try_again(self) -> None:
        """What fails in a ``.destroy`` is tried once more at the end of the run, which ends with that error then.

        The errors of a ``.destroy`` stop nothing: else what is still in the cloud would be forgotten without a word.
        """
        if self.session.gc.destroying:
            self._put_off()

    def _send(self, touched: set[Part]) -> None:
        target = self._target()
        base = self._base
        if base is not None and not base.complete and any(section in NOT_READ for section, _ in touched):
            base = None
        answer = None
        if base is not None:
            put, drop = difference(base, target, touched)
            target.digest = changed_digest(
                base.digest,
                [((section, key), part_of(base, section, key)) for section, key in drop]
                + [
                    ((section, key), old)
                    for section, key, _ in put
                    if (old := part_of(base, section, key)) is not MISSING
                ],
                [((section, key), value) for section, key, value in put],
            )
            answer = self.effect(
                "stack.push", base=base.digest, digest=target.digest, put=put, drop=drop, known=self._known
            )
            target.complete = base.complete
        if base is None or (answer or {}).get("stale"):
            parts = plain_parts(target)
            target.digest = digest_of(parts)
            target.complete = True
            put = [[*part, value] for part, value in parts.items()]
            answer = self.effect("stack.push", base=None, digest=target.digest, put=put, drop=[], known=self._known)
            if (answer or {}).get("stale"):
                raise HeatStackError(f"stack '{self.name}' changes at the same time by other hands; deploy again")
        self._base = target
        self._learn(answer or {}, target.digest)

    def _target(self) -> State:
        """What the cloud is to have; the digest is still to be found."""
        assert self.template is not None
        template = self.template
        defaults = {"heat_template_version": TEMPLATE_VERSION, "description": self.description}
        more = {key: value for key, value in defaults.items() if value and key not in template}
        return State(FDict({**template, **more}), self.values, self.files, self.environment, "")

    def _learn(self, answer: Mapping[str, Any], digest: str) -> None:
        changed = answer.get("outputs") or {}
        if answer.get("whole"):
            self._outputs = FDict(changed)
        elif changed or answer.get("gone"):
            gone = set(answer.get("gone") or ())
            self._outputs = FDict({k: v for k, v in {**self._outputs, **changed}.items() if k not in gone})
        self._known = digest

    def outputs(self) -> FDict:
        """Outputs, key to value, after a push that was put off."""
        self.settle()
        self._loaded()
        return self._outputs

    def reload(self) -> FDict:
        """Reads again from the cloud, after a push that was put off; changes that nobody pushed are lost."""
        self.settle()
        self.forget()
        return self.read()

    def delete(self) -> None:
        """Deletes the stack and waits for it."""
        with self.session.scheduler.mutex(("push stack", id(self))):
            try:
                self.effect("stack.delete")
            except Exception:
                self.template, self.dirty = FDict(), True
                self._try_again()
                raise
            self.forget()
            self.template = FDict()


def _resources(template: Mapping[str, Any]) -> Mapping[str, Any]:
    found = template.get("resources")
    return found if isinstance(found, dict) else {}


def _name(error: Exception) -> None:
    """Package code catches failures of stacks under the names that they always had."""
    names = names_of(error)
    error.aliases = tuple(dict.fromkeys((*HeatStackError.aliases, "EnvironmentError", "OSError", *names)))  # type: ignore[attr-defined]


def _again(error: Exception) -> HeatStackError:
    made = HeatStackError(str(error))
    made.aliases = names_of(error)  # type: ignore[assignment, misc]
    return made
