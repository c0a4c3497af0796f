"""The run as plug-ins see it: objects, context, interfaces (PACKAGES 6). Plug-ins find them in `plugin_api`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from vetro.muranopl.errors import MethodNotFound
from vetro.muranopl.runtime.effects import plain
from vetro.muranopl.types.access import read_property
from vetro.packages.errors import PluginError
from vetro.packages.plugin_effects import within
from vetro.yaql import api as yaql
from vetro.yaql.values import HostObject, thaw

T = TypeVar("T")

_ENVIRONMENT: Final = "io.murano.Environment"
#: What goes into the language as it is.
_DATA: Final = (type(None), bool, int, float, str, bytes, datetime.date, datetime.timedelta, HostObject)


class MuranoObject:
    """An object of the model, as plug-ins see it. Two are equal when they are the same object."""

    __slots__ = ("_context", "_object")

    def __init__(self, context: Context, obj: Any) -> None:
        self._context = context
        self._object = getattr(obj, "_object", obj)

    def __repr__(self) -> str:
        return repr(self._object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MuranoObject) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)

    @property
    def id(self) -> str:
        """Its id in the model."""
        return str(self._object._id)

    object_id = id

    @property
    def name(self) -> str | None:
        """The name in its header."""
        name: str | None = self._object._name
        return name

    @property
    def type_name(self) -> str:
        """Full name of its class."""
        return str(self._object._type.name)

    @property
    def owner(self) -> MuranoObject | None:
        """The object that owns it; None for the root and for what is not owned."""
        owner = self._object._owner
        return None if owner is None else MuranoObject(self._context, owner)

    def is_a(self, class_name: str) -> bool:
        """Whether its class is the named one or derives from it. Raises `ClassNotFound`, `PackageNotFound`."""
        return bool(self._object._type.derives_from(self._context.resolve(class_name)))

    def find_owner(self, class_name: str, optional: bool = False) -> MuranoObject | None:
        """The nearest owner of that class; None when there is none and it is ``optional``.

        Raises `ObjectNotFound`, and `ClassNotFound` or `PackageNotFound` for names that the plug-in's package does not
        reach with its requirements.
        """
        store = self._context.session.store
        found = store.find_owner(self._object, self._context.resolve(class_name), required=not optional)
        return None if found is None else MuranoObject(self._context, found)

    def __getitem__(self, name: str) -> Any:
        """The value of a property. Raises `PropertyReadError`, `UninitializedProperty`."""
        value = read_property(self._object, self._object._type, name, self._context.code)
        return self._context.for_plugin(value)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a property; ``default`` where the class has none of that name or it is null."""
        if name not in self._object._type.declared_names():
            return default
        value = self[name]
        return default if value is None else value

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of the object. Raises `MethodNotFound` and whatever the method raises."""
        bound = self._object.yaql_method(method, self._context.code)
        if bound is None:
            raise MethodNotFound(f"class {self.type_name} has no method '{method}'")
        engine = self._context.for_engine
        given = {name: engine(value) for name, value in kwargs.items()}
        with within(None):  # the method's code is no longer the plug-in's
            answer = bound(*map(engine, args), **given)
        return self._context.for_plugin(answer)


class Context:
    """The run in which a plug-in is called. Valid during the call; do not keep it."""

    def __init__(self, code: Any, calling: Any, distribution: str, package: Any) -> None:
        #: Contexts of the engine: of the extension's own class, and of the code that called. Not for plug-ins.
        self.code = code
        self._calling = calling
        self._package = package
        self.distribution = distribution

    @property
    def session(self) -> Any:
        """The engine's session; its members are not part of this interface."""
        return self.code.session

    @property
    def class_name(self) -> str:
        """Full name of the class whose code called."""
        return str(self._calling.type.name)

    @property
    def package_name(self) -> str:
        """Name of the package whose code called."""
        return str(self._calling.type.package.name)

    def memo(self, key: Any, make: Callable[[], T]) -> T:
        """What ``make()`` gave when this run first asked for ``key``; each distribution has keys of its own."""
        values = self.session.__dict__.setdefault("plugin_memo", {})
        full = (self.distribution, key)
        if full not in values:
            values[full] = make()
        found: T = values[full]
        return found

    def log(self, level: str, text: str) -> None:
        """A line in the log of the run; levels as in Python: debug, info, warning, error, critical."""
        self.perform("log", {"logger": self.distribution, "level": level, "text": text})

    def perform(self, kind: str, args: Mapping[str, Any]) -> Any:
        """One effect and its answer, plain data. Raises `NotPlainData` and what the host raises."""
        return thaw(self.session.perform(kind, plain(dict(args))))

    def resolve(self, class_name: str) -> Any:
        """The engine's type of a class that the plug-in's package reaches."""
        return self.session.types.find_from(self._package, class_name)

    def for_plugin(self, value: Any) -> Any:
        """A value of the language as plain Python data; objects as `MuranoObject`."""
        data = thaw(value)
        return self._wrap(data)

    def _wrap(self, value: Any) -> Any:
        if isinstance(value, HostObject):
            return MuranoObject(self, value) if hasattr(getattr(value, "_object", value), "_id") else value
        if isinstance(value, dict):
            return {self._wrap(key): self._wrap(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._wrap(item) for item in value]
        return value

    def for_engine(self, value: Any) -> Any:
        """What a plug-in gives as a value of the language. Raises `PluginError` for what is neither data nor object."""
        if isinstance(value, MuranoObject):
            return value._object
        if isinstance(value, _DATA):
            return value
        if isinstance(value, Mapping):
            return {self.for_engine(key): self.for_engine(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset, Iterator)):
            return [self.for_engine(item) for item in value]
        raise PluginError(
            f"{self.distribution} gave a value of type {type(value).__name__}",
            hint="plug-ins give numbers, texts, lists, mappings and objects of the model",
        )


class Interfaces:
    """Short ways to what plug-ins often need."""

    def __init__(self, context: Context, this: MuranoObject | None) -> None:
        self._context = context
        self._this = this

    def environment(self, of: MuranoObject | None = None) -> MuranoObject | None:
        """The environment that owns ``of`` (default: the object whose method is called); None outside of one."""
        obj = of or self._this
        if obj is None:
            return None
        return obj if obj.is_a(_ENVIRONMENT) else obj.find_owner(_ENVIRONMENT, optional=True)

    def yaql(self, expression: str, data: Any = None) -> Any:
        """The value of an expression for plain data."""
        return yaql.compile(expression)(data)
