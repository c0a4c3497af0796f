"""The workloads, driven through an adapter (README.md).

A workload prepares a state (not timed) and runs (timed); the result is hashed, and an engine did the same work if and
only if the hash is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.workloads import generate

PACKAGES = Path(__file__).parent / "packages"

Prepare = Callable[[Any, int, str], Any]
Run = Callable[[Any, int, Any], Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """``cold`` ones start in a process of their own each time."""

    key: str
    title: str
    sizes: Sequence[int]
    prepare: Prepare
    run: Run
    cold: bool = False


REGISTRY: dict[str, Workload] = {}


def add(key: str, title: str, sizes: Sequence[int], prepare: Prepare, run: Run, *, cold: bool = False) -> None:
    REGISTRY[key] = Workload(key, title, sizes, prepare, run, cold)


def method(key: str, title: str, sizes: Sequence[int], target: str, arguments: Callable[[int], dict[str, Any]]) -> None:
    """A workload that is one call of a method of one object."""
    class_name, method_name = target.split("::")

    def prepare(adapter: Any, n: int, tmp: str) -> Any:
        adapter.load_packages(PACKAGES)
        adapter.load_model({"Objects": {"?": {"type": f"bench.flow.{class_name}", "id": "root"}}})
        return arguments(n)

    def run(adapter: Any, n: int, state: Any) -> Any:
        return adapter.call("root", method_name, state)

    add(key, title, sizes, prepare, run)


def count(n: int) -> dict[str, Any]:
    return {"n": n}


def rows(n: int) -> dict[str, Any]:
    return {"rows": generate.rows(n)}


method("a1_while", "While, integer arithmetic, If/Else", (1000, 10000, 30000), "Loops::whileLoop", count)
method("a2_for", "For over range() with Continue and two Ifs", (1000, 10000, 30000), "Loops::forLoop", count)
method("b1_calls", "method calls, 3 checked arguments, 1 default", (300, 1000, 3000), "Calls::callLoop", count)
method("b2_fib", "recursive fib(N)", (8, 12, 15), "Calls::fib", count)
method("b3_static", "static method calls", (300, 1000, 3000), "Calls::staticLoop", count)
method("b4_depth", "recursion N levels deep", (10, 18, 20, 60, 100, 500), "Calls::descend", count)
method("c1_props", "own and inherited properties, read and set", (300, 1000, 3000), "PropLeaf::churn", count)
method("c2_inherited_calls", "inherited methods that set properties", (300, 1000, 3000), "PropLeaf::delegate", count)
method(
    "d1_contract_rows",
    "contract over N nested mappings",
    (100, 1000, 10000),
    "Contracts::acceptRows",
    lambda n: {"rows": generate.contract_rows(n)},
)
method(
    "d2_contract_ints",
    "contract over a list of N integers",
    (1000, 10000),
    "Contracts::acceptScalars",
    lambda n: {"numbers": list(range(n))},
)
method(
    "d3_contract_map",
    "contract over a mapping with N keys",
    (1000, 10000),
    "Contracts::acceptMap",
    lambda n: {"table": {f"k{i}": i for i in range(n)}},
)


def prepare_site(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(PACKAGES)
    adapter.load_class("bench.flow.Site")
    adapter.load_class("bench.flow.Node")
    return generate.site_model(n)


def load_site(adapter: Any, n: int, model: Any) -> Any:
    adapter.load_model(model)
    return adapter.call("site", "totalWeight", {})


def prepare_nested(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(PACKAGES)
    adapter.load_class("bench.flow.Box")
    return generate.nested_model(n)


def load_nested(adapter: Any, n: int, model: Any) -> Any:
    adapter.load_model(model)
    return adapter.call("b0", "depth", {})


def prepare_serialize(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(PACKAGES)
    adapter.load_model(generate.site_model(n))


add("e1_load", "load a model of N cross-referenced objects", (100, 1000, 10000, 50000), prepare_site, load_site)
add("e2_nested", "objects owned N levels deep", (2, 8, 16, 24, 500), prepare_nested, load_nested)
add(
    "f1_serialize",
    "serialise that model (Objects and ObjectsCopy)",
    (100, 1000, 10000, 50000),
    prepare_serialize,
    lambda adapter, n, state: adapter.serialize(),
)

for _key, _method, _title in (
    ("g1_where_select", "whereSelect", "where().select().sum()"),
    ("g2_group", "group", "groupBy with aggregator, orderBy"),
    ("g3_order", "order", "orderByDescending().thenBy(), take"),
    ("g4_todict", "index", "toDict, get"),
    ("g5_pipeline", "pipeline", "where/groupBy/toDict/orderBy/any/all"),
):
    method(_key, f"query over N rows: {_title}", (100, 1000, 10000), f"Queries::{_method}", rows)

method("h1_strings", "format, split, join, regex", (300, 1000, 3000), "Strings::build", count)
method("h2_grow", "append one character N times", (1000, 10000), "Strings::grow", count)


def prepare_schema(adapter: Any, n: int, tmp: str) -> Any:
    generate.class_package(tmp, "bench.catalog", n, properties=8, methods=1)
    adapter.load_packages(tmp)
    for name in generate.class_names("bench.catalog", n):
        adapter.load_class(name)


def run_schema(adapter: Any, n: int, state: Any) -> Any:
    return {name: adapter.schema(name) for name in generate.class_names("bench.catalog", n)}


add("i1_schema", "JSON Schemas of an N-class package", (20, 200), prepare_schema, run_schema, cold=True)


def run_core(adapter: Any, n: int, state: Any) -> Any:
    """Every class of the core library, which has fewer classes than Murano's as long as parts of it are missing."""
    adapter.load_core()
    names = [name for package in ("io.murano", "io.murano.applications") for name in adapter.class_names(package)]
    for name in names:
        adapter.load_class(name)
    return "loaded" if names else "nothing to load"


def prepare_big(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_core()
    adapter.load_class("io.murano.Object")
    generate.class_package(tmp, "bench.big", n, properties=5, methods=4)
    return tmp


def run_big(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(tmp)
    result = []
    for name in generate.class_names("bench.big", n):
        info = adapter.load_class(name)
        result.append([info["name"], len(info["properties"]), len(info["methods"])])
    return result


def prepare_versions(adapter: Any, n: int, tmp: str) -> Any:
    generate.versioned_packages(tmp, "bench.multi", n)
    return tmp


def run_versions(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(tmp)
    result = [adapter.resolve("bench.multi", spec) for spec in generate.version_specs(n)]
    result += [adapter.load_class("bench.multi.Thing", f"=1.{i}.0")["version"] for i in range(n)]
    return result


add("j1_core", "load every class of the core library", (1,), lambda adapter, n, tmp: None, run_core, cold=True)
add("j2_big", "index and load an N-class package", (100, 1000), prepare_big, run_big, cold=True)
add(
    "j3_versions",
    "N versions: index, resolve 10N specs, load each",
    (10, 50),
    prepare_versions,
    run_versions,
    cold=True,
)

method("k1_pselect", "pselect over N items of trivial work", (100, 1000), "Threads::fanOut", count)


def prepare_parallel(adapter: Any, n: int, tmp: str) -> Any:
    generate.parallel_package(tmp, "bench.par", n)
    adapter.load_packages(tmp)
    adapter.load_model({"Objects": {"?": {"type": "bench.par.Block", "id": "root"}}})


add(
    "k2_parallel",
    "Parallel block with N branches",
    (100, 400),
    prepare_parallel,
    lambda adapter, n, state: adapter.call("root", "go", {}),
)

method("l1_trycatch", "Try/Catch/Else/Finally, every second call throws", (300, 1000, 3000), "Failures::guarded", count)


def prepare_deploy(adapter: Any, n: int, tmp: str) -> Any:
    adapter.load_packages(PACKAGES)
    adapter.load_class("bench.flow.Landscape")
    adapter.load_class("bench.flow.WebComponent")
    return generate.landscape_model(n)


def run_deploy(adapter: Any, n: int, model: Any) -> Any:
    adapter.load_model(model)
    result = adapter.call("land", "deploy", {})
    tree = adapter.serialize()
    return [result, tree["Objects"], sorted(tree["Attributes"], key=lambda a: (a[0], a[2]))]


add("m1_deploy", "load, deploy and serialise N components", (10, 100, 400), prepare_deploy, run_deploy)
add(
    "n1_ui",
    "parse and evaluate N expressions of a form",
    (500, 5000),
    lambda adapter, n, tmp: (generate.ui_expressions(n), generate.ui_data()),
    lambda adapter, n, state: adapter.ui_eval(*state),
    cold=True,
)


def prepare_ui_again(adapter: Any, n: int, tmp: str) -> Any:
    state = generate.ui_expressions(n), generate.ui_data()
    adapter.ui_eval(*state)
    return state


add(
    "n2_ui_again",
    "evaluate N expressions that were seen before",
    (500, 5000),
    prepare_ui_again,
    lambda adapter, n, state: adapter.ui_eval(*state),
)
