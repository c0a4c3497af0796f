"""Where settings come from, and variables of the environment that look like settings and are none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.engine.class_configs import rows_of
from vetro.server.config.config import Config, variable_of
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError

#: What all variables are called as a source.
_ENVIRONMENT = "environment"


def examine(config: Config, environ: Mapping[str, str] | None = None) -> Iterator[Diagnostic]:
    """The sources; names that mean nothing; files that settings name and that are not there."""
    environ = os.environ if environ is None else environ
    names = {variable_of(value.setting.name): value.setting.name for value in config.values()}
    merged = {name.replace("__", "_"): name for name in names}
    for variable in sorted(environ):
        if not variable.startswith("VETRO_") or variable in names:
            continue
        meant = merged.get(variable.replace("__", "_")) or ("__" in variable and suggest(variable, names))
        if meant or "__" in variable:
            hint = (
                Text("it is called {meant}", meant=meant) if meant else Text("'vetro config show' lists the settings")
            )
            yield Diagnostic(
                "settings",
                WARNING,
                Text("the variable {variable} is no setting, and does nothing", variable=variable),
                hint,
                cure="settings",
            )
    for name in ("accounts.policy_file", "engine.class_configs", "networking.config_file", "cloud.script"):
        if isinstance(config[name], str) and config[name] and not config.path(name).exists():
            hint = Text("put it there, or change '{name}'", name=name)
            yield Diagnostic(
                "settings",
                ERROR,
                Text("'{name}' names {path}, which does not exist", name=name, path=config.path(name)),
                hint,
            )
    given = config["engine.class_configs"]
    if not isinstance(given, str) or (given and config.path("engine.class_configs").exists()):
        try:
            rows_of(given, config.data)
        except VetroError as error:
            yield Diagnostic(
                "settings", ERROR, Text("'engine.class_configs': {message}", message=error.message), Text("correct it")
            )
    sources = Counter(_kind(value.source) for value in config.values())
    del sources["default"]
    for source, count in sorted(sources.items()):
        if source == _ENVIRONMENT:
            yield Diagnostic("settings", OK, Text("{count} from the environment", count=count))
        else:
            yield Diagnostic("settings", OK, Text("{count} from {source}", count=count, source=source))
    if not sources:
        yield Diagnostic(
            "settings", OK, Text("all have their defaults; the data directory is {data}", data=config.data)
        )


def _kind(source: str) -> str:
    return _ENVIRONMENT if source.startswith("environment ") else source
