"""`ObjectStore`: makes the objects of a session: of models, definitions and values (SEMANTICS 11.1, 11.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vetro.muranopl.errors import DeclarationError
from vetro.muranopl.objects.header import NOTHING, split
from vetro.muranopl.objects.loader import Loader
from vetro.muranopl.objects.registry import ObjectRegistry
from vetro.muranopl.objects.templates import template_from_mapping, template_from_object
from vetro.muranopl.types.murano_object import MuranoObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext


class ObjectStore(ObjectRegistry):
    """The objects of a session, with the ways in which they come to be."""

    def load_model(self, model: Mapping[str, Any]) -> MuranoObject | None:
        """Loads Objects, ObjectsCopy and Attributes of a model; the root object, None without Objects (11.1, 13.1).

        Raises what contracts, defaults and ``.init`` raise; the store is not to be used after that.
        """
        rows = model.get("Attributes") or ()
        if not isinstance(rows, (list, tuple)):
            raise DeclarationError("Attributes of a model must be a list of rows [id, class, name, value]")
        self.session.attributes.load(rows)
        objects = model.get("Objects")
        if objects is not None:
            self.root = self._load_tree(objects, shadow=False)
        copy = model.get("ObjectsCopy")
        if copy is not None:
            self._load_tree(copy, shadow=True)
        return self.root

    def _load_tree(self, tree: Any, *, shadow: bool) -> MuranoObject:
        if not isinstance(tree, Mapping):
            raise DeclarationError("the root of an object model must be a mapping")
        loader = Loader(self, keep_ids=True, shadow=shadow)
        root = loader.define(tree, None, None, None)
        loader.run()
        if shadow:
            self.removed.extend(loader.created)
        return root

    def create(
        self,
        type_: LinkedClass,
        properties: Mapping[str, Any],
        owner: MuranoObject | None = None,
        name: str | None = None,
        header: Mapping[Any, Any] | None = None,
        keep_id: bool = False,
    ) -> MuranoObject:
        """A new object with property values (unknown ones are ignored), initialised.

        ``header`` may give metadata and designer keys; its id counts with ``keep_id`` only. Raises what contracts,
        defaults and ``.init`` raise; then nothing of the object stays.
        """
        loader = Loader(self, keep_ids=keep_id, parent=None if owner is None else owner._loader)
        parsed = NOTHING
        if header is not None:
            parsed = split(self.session, {"?": header}, None)[0]
        if name is not None:
            parsed = parsed._replace(name=name)
        return self._finish(loader, loader.allocate(type_, parsed, properties, owner))

    def from_mapping(
        self,
        mapping: Mapping[Any, Any],
        default_type: LinkedClass | None,
        owner: MuranoObject | None,
        context_type: LinkedClass | None,
    ) -> MuranoObject:
        """The object of a definition met at run time; ids in it are not kept (11.3).

        ``context_type`` is the class whose code or contract holds the definition. Raises `MissingType` without a
        class, and as `create` does.
        """
        loader = Loader(self, keep_ids=False, parent=None if owner is None else owner._loader)
        return self._finish(loader, loader.define(mapping, owner, default_type, context_type))

    @staticmethod
    def _finish(loader: Loader, obj: MuranoObject) -> MuranoObject:
        loader.run()
        return obj

    # -- templates -----------------------------------------------------------------------------------------------------

    def template_from_mapping(
        self,
        value: Mapping[Any, Any],
        cx: MuranoContext,
        this: Any,
        type_: LinkedClass,
        default: LinkedClass | None,
        spec: str | None,
        exclude: Sequence[str],
    ) -> Any:
        """The complete definition that ``template()`` makes of a given one; no object is made. Raises
        `ContractViolation`."""
        return template_from_mapping(self, value, cx, this, type_, default, spec, exclude)

    def template_from_object(self, obj: MuranoObject, exclude: Sequence[str]) -> Any:
        """An existing object as a definition, its id included."""
        return template_from_object(self.session, obj, exclude)
