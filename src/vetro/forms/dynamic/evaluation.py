"""One evaluation: what expressions see, and the state of the functions that have one (DYNAMIC_UI 3, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.environment import Surroundings
from vetro.forms.dynamic.errors import TemplateLoop
from vetro.forms.dynamic.expressions import LIMITS, UNEVALUATED, evaluate, form_dialect, plain_dialect, unevaluated
from vetro.forms.dynamic.patterns import pattern_context
from vetro.yaql.context import CodeContext, Execution
from vetro.yaql.environment import Env
from vetro.yaql.values import FDict

#: How deep templates may stand in templates.
MAX_TEMPLATES = 50
#: What one look at a template costs: ten in each of ten levels would never come to an end.
_TEMPLATE_STEPS = 10


class Evaluation:
    """The evaluation of one page, one step or one object model; budgets are those of the whole of it.

    ``may_encrypt``: only what happens once may put things into the secret store, so showing a form may not.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        parameters: Mapping[str, Any] | None = None,
        templates: Mapping[str, Any] | None = None,
        application_name: str | None = None,
        *,
        may_encrypt: bool = False,
    ) -> None:
        self.surroundings = surroundings
        self.rt = Execution(LIMITS, rng=surroundings.rng, clock=surroundings.clock)
        self.cx = CodeContext(self.rt, form_dialect(), {"forms": self})
        self.plain = CodeContext(self.rt, plain_dialect())
        self.patterns = pattern_context()
        self.parameters: dict[str, Any] = dict(parameters or {})
        self.templates = templates or {}
        self.application_name = application_name
        self.may_encrypt = may_encrypt
        #: ``$index`` of the innermost `repeat`.
        self.index: int | None = None
        #: Objects made by `ref`: key -> (id, object).
        self.referred: dict[str, tuple[str, Any]] = {}
        self.making: set[str] = set()
        self.hostnames = 0
        self._depth = 0
        #: The scope of templates, set by `model_env`.
        self._base: Env | None = None

    def env(self, data: FDict | None) -> Env:
        """The scope of attributes and validators of forms: ``$`` and parameters."""
        return Env({**self.parameters, "1": data}, None, self.cx)

    def value_env(self, value: Any) -> Env:
        """The scope of a validator of one field: ``$`` is the value, and nothing else is there."""
        return Env({"1": value}, None, self.plain)

    def model_env(self, data: FDict) -> Env:
        """The scope of the object model: ``$``, ``$forms``, parameters, and templates, which hide them."""
        outer = Env({**self.parameters, "1": data, "forms": data}, None, self.cx)
        self._base = Env(_Templates(self), outer, self.cx)
        return self._base

    @property
    def compared(self) -> Mapping[str, Any]:
        """The templates, where expressions see them."""
        return self.templates if self._base is not None else {}

    def template(self, name: str) -> Any:
        """The value of a template, evaluated now. Raises `TemplateLoop` when it contains itself."""
        assert self._base is not None
        snippet = self.templates[name]
        if self._depth >= MAX_TEMPLATES:
            raise TemplateLoop(
                Text(
                    "templates are nested deeper than {max_templates} levels, '{name}' among them",
                    max_templates=MAX_TEMPLATES,
                    name=name,
                ),
                position=getattr(snippet, "position", None),
                hint=Text("look for templates that contain each other"),
            )
        self.rt.charge(_TEMPLATE_STEPS)
        self._depth += 1
        try:
            return evaluate(snippet, self._base)
        finally:
            self._depth -= 1


class _Templates(dict[str, Any]):
    """Variables whose values are made at each look: templates, and ``$index``."""

    def __init__(self, evaluation: Evaluation) -> None:
        names = evaluation.templates
        super().__init__(dict.fromkeys([*names, *(UNEVALUATED + name for name in names)]))
        self["index"] = None
        self._evaluation = evaluation

    def __getitem__(self, name: str) -> Any:
        if name in self._evaluation.templates:
            return self._evaluation.template(name)
        if name[:1] == UNEVALUATED:
            return unevaluated(self._evaluation.templates[name[1:]])
        return self._evaluation.index
