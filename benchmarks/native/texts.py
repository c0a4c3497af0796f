"""Texts, and expressions of forms."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.native.base import Native, nothing
from benchmarks.workloads import generate

DIGITS = re.compile("[0-9]+")
NINE = re.compile("9\\.")


def build(n: int, state: Any) -> dict[str, Any]:
    i = size = 0
    last = ""
    while i < n:
        host = "{0}-{1}.example".format("vm", i)  # noqa: UP030 - as the workload does it
        joined = ":".join(host.upper().split("-"))
        clean = DIGITS.sub("N", joined)
        if host.startswith("vm-1") or NINE.search(host):
            last = clean + "/" + str(i)
        size += len(clean)
        i += 1
    return {"size": size, "last": last}


def grow(n: int, state: Any) -> int:
    text = ""
    for x in range(n):
        text = text + str(x % 10)
    return len(text)


#: The expressions of `generate.ui_expressions`, in Python.
_UI = (
    "data['app']['name']",
    "[f['name'] for f in data['app']['flavors'] if f['ram'] > {0}]",
    "'{1}-' + data['app']['name']",
    "data['app']['count'] + {0}",
    "data['app']['count'] > {0} and data['app']['enabled']",
    "'big' if data['app']['count'] > {0} else 'small'",
    "'{{0}}-{1}'.format(data['app']['name'])",
    "[{{'name': i['name'], 'flavor': i['flavor']}} for i in data['instances']]",
    "len([i for i in data['instances'] if i['flavor'] == 'f{0}'])",
    "data['app']['missing'] if data['app']['missing'] is not None else 'd{1}'",
)


def prepare_ui(n: int, tmp: str) -> Any:
    return [_UI[i % len(_UI)].format(i % 50, i) for i in range(n)], generate.ui_data()


def evaluate(n: int, state: Any) -> list[Any]:
    texts, data = state
    scope = {"data": data, "len": len}
    return [eval(compile(text, "ui", "eval"), scope) for text in texts]


def prepare_compiled(n: int, tmp: str) -> Any:
    texts, data = prepare_ui(n, tmp)
    return [compile(text, "ui", "eval") for text in texts], data


def evaluate_compiled(n: int, state: Any) -> list[Any]:
    codes, data = state
    scope = {"data": data, "len": len}
    return [eval(code, scope) for code in codes]


NATIVE = {
    "h1_strings": Native(nothing, build),
    "h2_grow": Native(nothing, grow),
    "n1_ui": Native(prepare_ui, evaluate),
    "n2_ui_again": Native(prepare_compiled, evaluate_compiled),
}
