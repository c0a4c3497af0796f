"""`Session`: one run over one object model.

Owns everything that lives as long as the run: linked classes, objects, attributes, locks, budgets, chosen package
versions. `vetro.muranopl.api.Engine` makes sessions; nothing here is shared between two of them.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from vetro.muranopl.compiler.compiler import Compiler
from vetro.muranopl.errors import DeclarationError, InvalidOperation, MethodNotExposed, MethodNotFound, ObjectNotFound
from vetro.muranopl.functions.dialects import DialectSet
from vetro.muranopl.objects.attributes import AttributeStore
from vetro.muranopl.objects.gc import GarbageCollector
from vetro.muranopl.objects.serializer import serialize_model
from vetro.muranopl.objects.store import ObjectStore
from vetro.muranopl.package_resolver import CORE_LIBRARY, PackageResolver
from vetro.muranopl.runtime.effects import UnknownEffect
from vetro.muranopl.runtime.exceptions import frames_of, translate
from vetro.muranopl.runtime.execution import Clock, EffectClock, MuranoExecution
from vetro.muranopl.runtime.hosting import EffectsHost
from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod
from vetro.muranopl.runtime.scheduler import Scheduler
from vetro.muranopl.runtime.stacks import deep_calls, enough_stack, on_large_stack
from vetro.muranopl.runtime.stacktrace import stack_trace_value
from vetro.muranopl.types import meta
from vetro.muranopl.types.access import read_property
from vetro.muranopl.types.linker import TypeRegistry
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.muranopl.types.murano_type import MuranoType
from vetro.muranopl.types.views import View
from vetro.yaql.context import Limits
from vetro.yaql.errors import Stop
from vetro.yaql.redact import Secrets, running
from vetro.yaql.resolve.overloads import call_function as call_library
from vetro.yaql.resolve.signature import Overload
from vetro.yaql.values import HostObject, freeze

_T = TypeVar("_T")
#: Effects that people read.
TOLD = frozenset({"report", "log", "track"})


class Session:
    """One run, or several after each other (`restart`). Made by `Engine.session`; use it from one thread."""

    def __init__(
        self,
        source: Any,
        rt: MuranoExecution,
        *,
        effects: Any,
        natives: Any,
        functions: Mapping[str, Overload],
        configs: Any = None,
        code_cache: Any = None,
        settings: Mapping[str, Any] | None = None,
        secrets: Callable[[str], str] | None = None,
        mocking: bool = False,
        seed: int | str = 0,
        tier: str = "compiled",
    ) -> None:
        self.rt = rt
        #: The secret values that the run has met: nothing that is said about it holds them.
        self.redaction = Secrets()
        self.natives = natives
        self.mocking = mocking
        self.tier = tier
        self.configs = configs
        self.code_cache = code_cache
        self.compiler = Compiler()
        self.dialects = DialectSet(functions)
        self.functions_key = ",".join(sorted(functions))
        self.source = source
        self.types = TypeRegistry(self)
        self.store = ObjectStore(self)
        self._begin(effects, settings, secrets, seed)

    def _begin(
        self, effects: Any, settings: Mapping[str, Any] | None, secrets: Callable[[str], str] | None, seed: int | str
    ) -> None:
        """What one run has, besides linked classes."""
        rt = self.rt
        self.effects = effects
        self.host = EffectsHost(effects)
        self.settings = dict(settings or {})
        self.secrets = secrets
        self.resolver = PackageResolver(self.source)
        self.scheduler = Scheduler(rt, in_order=self.host.in_order, outside=self.host.outside())
        if isinstance(rt.task_clock, EffectClock):
            rt.task_clock.bind(self.perform)
        rt.scheduler = self.scheduler
        self.attributes = AttributeStore(self)
        self.gc = GarbageCollector(self)
        self.meta_objects = meta.MetaObjects(self)
        self._seed = seed
        self._ids = random.Random(f"ids:{seed}")
        #: What the native classes of this session share, by names of their own.
        self.native: dict[str, Any] = {}
        self._at_end: list[Callable[[], Any]] = []
        #: Sees each effect before it begins, and gives its arguments or raises; None: all are performed as they are.
        self.guard: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
        self.root: MuranoObject | None = None
        self._depth = 0
        self._thread = 0

    def restart(
        self,
        limits: Limits,
        *,
        effects: Any,
        fixed: Mapping[str, Iterable[str]],
        clock: Clock | None = None,
        settings: Mapping[str, Any] | None = None,
        secrets: Callable[[str], str] | None = None,
        seed: int | str = 0,
    ) -> None:
        """Begins a new run that finds classes linked and code bound, and nothing else of the one before.

        The model that it leaves tells only the versions that it had to choose anew (``SystemData.Packages``).
        ``fixed``: the versions that the model of either run says it used. Raises `InvalidOperation` where they leave it
        open which version a class gets (that may depend on what a run meets first), and while a run goes on.
        """
        if self._depth or self.mocking or not self.source.settled(fixed):
            raise InvalidOperation("this session cannot be used for another run")
        self.scheduler.close()
        self.rt.begin(limits, clock=clock, seed=f"run:{seed}")
        self.redaction.clear()
        self.types.restart()
        self.store.restart()
        self._begin(effects, settings, secrets, seed)

    def adopt(
        self,
        source: Any,
        limits: Limits,
        *,
        natives: Any,
        configs: Any,
        code_cache: Any,
        effects: Any,
        clock: Clock | None = None,
        settings: Mapping[str, Any] | None = None,
        secrets: Callable[[str], str] | None = None,
        seed: int | str = 0,
    ) -> None:
        """Begins a run over other packages, among them the core library as it is here: its classes stay linked,
        and its code bound, of a run before nothing. It requires no other package, so nothing of what it is linked to
        depends on these."""
        self.scheduler.close()
        self.rt.begin(limits, clock=clock, seed=f"run:{seed}")
        self.redaction.clear()
        self.source, self.natives, self.configs, self.code_cache = source, natives, configs, code_cache
        self.types.keep(CORE_LIBRARY)
        self.store.restart()
        self._begin(effects, settings, secrets, seed)
        self.resolver.find_package(CORE_LIBRARY, "*")  # used by whatever is linked: a model tells so

    # -- services for the engine's own modules -------------------------------------------------------------------------

    def type_for(self, name: str, version: str | None = None, package: str | None = None) -> MuranoType:
        """The class of an object header."""
        return self.types.for_header(name, version, package)

    def type_by_name(self, name: str, spec: str | None = None, package: str | None = None) -> MuranoType:
        """The class for look-ups from outside."""
        return self.types.find(name, spec, package)

    def new_id(self) -> str:
        """A fresh object id: 32 hexadecimal digits, determined by the seed and the number of ids made before."""
        made = f"{self._ids.getrandbits(128):032x}"
        while self.store.get(made) is not None:  # a model made with the same seed has the same ids
            made = f"{self._ids.getrandbits(128):032x}"
        return made

    @contextmanager
    def set_apart(self, label: str) -> Iterator[None]:
        """What is made in here leaves the ids and random numbers of the rest as they would be without it."""
        ids, chance = self._ids, self.rt.rng
        self._ids = random.Random(f"ids:{self._seed}:{label}")
        self.rt.rng = random.Random(f"run:{self._seed}:{label}")
        try:
            yield
        finally:
            self._ids, self.rt.rng = ids, chance

    def class_config(self, name: str, version: Any) -> Mapping[str, Any]:
        """Frozen values of a class configuration (SEMANTICS 5.7)."""
        if self.configs is None:
            return {}
        return {k: freeze(v) for k, v in (self.configs.get(name, version) or {}).items()}

    def meta_of(self, thing: Any) -> list[Any]:
        """Meta objects of a class, property, method, argument or package."""
        return self.meta_objects.of(thing)

    def view(self, obj: Any, of: LinkedClass) -> View:
        """``obj`` seen as its ancestor ``of``."""
        return View(obj._object if isinstance(obj, View) else obj, of)

    def evaluate(self, template: Any, owner: LinkedClass | None) -> Any:
        """The value of a YAML template in the names of class ``owner``."""
        if owner is None:
            owner = self.types.core("io.murano.Object")
        return self.compiler.template(template, owner)

    def call_init(self, obj: MuranoObject, args: Mapping[str, Any]) -> None:
        """Runs the ``.init`` of every level once, base first (SEMANTICS 7.7)."""
        for level in reversed(obj._type.ancestors):
            method = level.own_methods.get(".init")
            if method is None:
                continue
            names = {a.name for a in method.arguments}
            given = {k: v for k, v in args.items() if k in names}
            method.call(method.function, obj, (), given)

    def call_dynamic(self, cx: Any, name: str, args: Any, kwargs: Mapping[str, Any], receiver: Any) -> Any:
        """``call()`` (SEMANTICS 7.8): a method of the receiver, or a function when there is none."""
        if receiver is not None:
            if isinstance(receiver, HostObject):
                method = receiver.yaql_method(name, cx)
                if method is not None:
                    return method(*args, **kwargs)
            extension = cx.find_extension(name, receiver)
            if extension is not None:
                return extension(*args, **kwargs)
            return call_library(cx, cx.dialect.table, name, args, kwargs, receiver=receiver)
        return call_library(cx, cx.dialect.table, name, args, kwargs)

    def perform(self, kind: str, args: dict[str, Any]) -> Any:
        """One outside effect; other branches go on meanwhile. The answer is frozen."""
        if self.guard is not None:
            args = self.guard(kind, args)
        if kind in TOLD and self.redaction:
            args = self.redaction.data(args)
        key = self.scheduler.current.next_key()
        return freeze(self.host.perform(self.scheduler, key, kind, args))

    def warn(self, text: str) -> None:
        """Logs what went wrong without stopping anything. Hosts that do not log are spared."""
        try:
            self.perform("log", {"logger": "engine", "level": "warning", "text": text})
        except UnknownEffect:
            pass

    def stack_trace(self, error: BaseException) -> Any:
        """The value of ``$e.stackTrace``."""
        return stack_trace_value(self, frames_of(error))

    # -- the outside world ---------------------------------------------------------------------------------------------

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Every call from outside runs in here: clock, recursion limit, translation of errors, which hold no secrets
        outside."""
        if self._depth:
            if self._thread != threading.get_ident():
                raise InvalidOperation(
                    "the session is running in another thread; each thread needs sessions of its own"
                )
            yield
            return
        self._depth += 1
        self._thread = threading.get_ident()
        try:
            with deep_calls(), self.rt.clocked(), running(self.redaction):
                yield
        except Stop as error:
            error.murano_frames = frames_of(error)  # type: ignore[attr-defined]
            raise
        except Exception as error:
            better = translate(error)
            better.murano_frames = frames_of(better)  # type: ignore[attr-defined]
            with deep_calls():
                self.redaction.error(better)
            if better is error:
                raise
            raise better.with_traceback(error.__traceback__) from None
        finally:
            self._depth -= 1

    def run(self, work: Callable[[], _T]) -> _T:
        """``work()`` inside the engine, on a stack that is large enough."""
        if self._depth or enough_stack():
            with self.entered():
                return work()

        def entered() -> _T:
            with self.entered():
                return work()

        return on_large_stack(entered, self.cancel)

    def load(self, model: Mapping[str, Any] | None) -> MuranoObject | None:
        """Loads an object model (SEMANTICS 11); the root object, or None for an empty model."""
        return self.run(partial(self._load, model or {}))

    def _load(self, data: Mapping[str, Any]) -> MuranoObject | None:
        system = data.get("SystemData") or {}
        if not isinstance(system, Mapping):
            raise DeclarationError("SystemData of a model must be a mapping")
        self.resolver.load_fixations(system.get("Packages"))
        self.root = self.store.load_model(data)
        return self.root

    def call(
        self,
        method: str,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        object_id: str | None = None,
        on_class: Any = None,
        public_only: bool = True,
    ) -> Any:
        """Calls a method as the outside world does: public ones only (SEMANTICS 7.5). The result is frozen.

        Raises `MethodNotFound`, `MethodNotExposed`, `ObjectNotFound` and whatever the method raises.
        """
        return self.run(partial(self._call, method, tuple(args), dict(kwargs or {}), object_id, on_class, public_only))

    def _call(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        object_id: str | None,
        on_class: Any,
        public_only: bool,
    ) -> Any:
        receiver, kind = self._receiver(object_id, on_class)
        found = kind.find_method(name) if not name.startswith(".") else None
        if found is None or (found.extension and public_only and not found.public):
            raise MethodNotFound(f"class {kind.name} has no method '{name}'")
        if public_only and not found.public:
            raise MethodNotExposed(
                f"method {found.declaring.name}::{name} is not public",
                hint="declare it with 'Scope: Public' to make it callable from outside",
            )
        if receiver is None and not found.static:
            raise MethodNotFound(f"method {kind.name}::{name} is not static: it needs an object")
        return freeze(self._invoke(found, receiver, args, kwargs))

    def _receiver(self, object_id: str | None, on_class: Any) -> tuple[MuranoObject | None, LinkedClass]:
        if on_class is not None:
            if isinstance(on_class, str):
                on_class = {"name": on_class}
            return None, self.types.find(on_class["name"], on_class.get("version"), on_class.get("package"))
        if object_id is None:
            obj = self.root
            if obj is None:
                raise ObjectNotFound("no model is loaded")
        else:
            obj = self.store.get(object_id)
            if obj is None:
                raise ObjectNotFound(f"there is no object with id '{object_id}'")
        return obj, obj._type

    def _invoke(self, method: LinkedMethod, receiver: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Calls with plain data: the contracts of the arguments freeze what they do not convert."""
        if method.native is not None:
            args, kwargs = freeze(args), {k: freeze(v) for k, v in kwargs.items()}
        if method.static:
            return method.call_plain(method.function, method.declaring.type_object, args, kwargs)
        function = getattr(type(receiver), "m_" + method.name)
        return method.call_plain(function, receiver, args, kwargs)

    def read(self, obj: Any, name: str) -> Any:
        """The value of property ``name`` of an object, whatever its usage; frozen, objects in it are live.

        Raises `PropertyReadError` for a name that its class does not have, `UninitializedProperty`.
        """
        return self.run(partial(read_property, obj, obj._type, name, None))

    def serialize(self, copy: bool = False) -> dict[str, Any]:
        """The model of the root object as plain data (SEMANTICS 12)."""
        return self.run(lambda: serialize_model(self, self.root, copy))

    def cleanup(self) -> None:
        """The garbage collection before a deployment: destroys what only the copy has (SEMANTICS 13.1)."""
        self.run(self.gc.cleanup)

    def finalize(self) -> dict[str, Any]:
        """Ends a deployment: destroys what the root does not hold, does what was put off, then serialises."""
        self.run(self.gc.finalize)
        self.finish()
        return self.serialize()

    def at_end(self, callback: Callable[[], Any]) -> None:
        """Has ``callback()`` called by `finish`, once: work that native classes put off."""
        self._at_end.append(callback)

    def finish(self) -> None:
        """Does what was put off, in parallel; nothing the second time. To be called after a failed run, too.

        Raises the first failure, after everything was tried.
        """
        while self._at_end:
            callbacks, self._at_end = self._at_end, []
            self.run(partial(self.scheduler.gather, callbacks))

    def alive(self, ids: Any) -> list[str]:
        """Which of these objects exist and are not destroyed."""
        return [i for i in ids if self.store.is_alive(i)]

    def schema(
        self,
        name: str,
        version: str | None = None,
        package: str | None = None,
        methods: Any = None,
        *,
        form: bool = False,
    ) -> Any:
        """JSON Schemas of a class and its model builders, or of the named methods (SEMANTICS 17).

        ``form``: exact ones of draft 2020-12 that forms are made from (`contracts.schema`), instead of those of /v1.
        """
        from vetro.muranopl.schemas import class_schemas

        return self.run(lambda: class_schemas(self, self.types.find(name, version, package), methods, form=form))

    def cancel(self, reason: str = "the task was cancelled") -> None:
        """Makes the running call (and every later one) raise `Cancelled` at its next step or effect.

        May be called from any thread and from signal handlers.
        """
        self.rt.cancel(reason)

    def close(self) -> None:
        """Lets threads and objects go, and puts what was read of class files into the code cache."""
        self.types.store_declarations()
        self.scheduler.close()
