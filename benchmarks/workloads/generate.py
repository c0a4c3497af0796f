"""Deterministic inputs and synthetic packages. The recorded checksums depend on every character of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Data = dict[str, Any]


def rows(n: int) -> list[Data]:
    """Flat rows with a few kinds and scores."""
    return [{"id": i, "name": f"row{(i * 7919) % n}", "kind": f"k{i % 17}", "score": (i * 37) % 101} for i in range(n)]


def contract_rows(n: int) -> list[Data]:
    """Nested rows that satisfy the contract of `Contracts::acceptRows`."""
    return [
        {
            "id": i,
            "name": f"item-{i}",
            "enabled": i % 3 == 0,
            "tags": [f"t{i % 5}", "all"],
            "limits": {"cpu": 1 + i % 8, "memory": 256 * (1 + i % 4)},
        }
        for i in range(n)
    ]


def site_model(n: int) -> Data:
    """A site that owns n nodes, which refer to each other."""
    nodes = []
    for i in range(n):
        node: Data = {
            "?": {"type": "bench.flow.Node", "id": f"n{i:06d}"},
            "name": f"node-{i}",
            "weight": i % 11,
            "labels": {"zone": f"z{i % 3}", "tier": "gold"},
            "ports": [80, 443, 1000 + i % 1000],
        }
        if i:
            node["peer"] = f"n{i - 1:06d}"
        if i + 1 < n:
            node["backups"] = [f"n{i + 1:06d}", f"n{(i * 31) % n:06d}"]
        nodes.append(node)
    site = {"?": {"type": "bench.flow.Site", "id": "site"}, "name": "site", "nodes": nodes}
    return {"Objects": site, "Attributes": []}


def nested_model(n: int) -> Data:
    """Boxes in boxes, n deep."""
    inner: Data | None = None
    for i in reversed(range(n)):
        inner = {"?": {"type": "bench.flow.Box", "id": f"b{i}"}, "name": f"box{i}", "inner": inner}
    return {"Objects": inner, "Attributes": []}


def landscape_model(n: int) -> Data:
    """Components that depend on each other in chains of five."""
    components = []
    for i in range(n):
        ports = [
            {"port": 1000 + i + p, "protocol": "tcp", "scope": "public" if p % 2 else "internal"} for p in range(4)
        ]
        components.append(
            {
                "?": {"type": "bench.flow." + ("WebComponent" if i % 2 else "Component"), "id": f"c{i:05d}"},
                "name": f"app{i}",
                "ports": ports,
                "dependsOn": [f"c{i - 1:05d}"] if i % 5 else [],
            }
        )
    land = {"?": {"type": "bench.flow.Landscape", "id": "land"}, "name": "landscape", "components": components}
    return {"Objects": land, "Attributes": []}


def class_names(package: str, n: int) -> list[str]:
    """Names of the classes that `class_package` writes."""
    return [f"{package}.C{i:04d}" for i in range(n)]


_CONTRACTS = (
    "Contract: $.string().notNull()",
    "Contract: $.int().notNull().check($ >= 0)",
    "Contract: $.bool()",
    "Contract:\n      - $.string().notNull()",
    "Contract:\n      host: $.string().notNull()\n      port: $.int()",
    "Contract: $.class(std:Object)",
    "Contract: $.string().check($ in [a, b, c])",
    "Contract:\n      $.string().notNull(): $.int()",
)
_BODIES = (
    "      - Return: $a + 1",
    "      - $x: $a * 2\n      - If: $x > 10\n        Then:\n          - Return: $x\n      - Return: 0",
    "      - For: i\n        In: range($a)\n        Do:\n          - $.p0: format('{0}', $i)\n      - Return: $.p0",
    "      - Return: range($a).where($ mod 2 = 0).select($ * $).toList()",
)


def class_package(root: str | Path, package: str, n: int, properties: int, methods: int) -> None:
    """Writes a package of n classes; every tenth is the base of the nine after it."""
    manifest = _manifest(package, "generated", "0.1.0")
    for i in range(n):
        manifest.append(f"  {package}.C{i:04d}: C{i:04d}.yaml")
        out = ["Namespaces:", f"  =: {package}", "  std: io.murano", "", f"Name: C{i:04d}"]
        if i % 10:
            out.append(f"Extends: C{i - i % 10:04d}")
        out.append("Properties:")
        for p in range(properties):
            out += [f"  {'q' if i % 10 else 'p'}{p}:", f"    {_CONTRACTS[p % len(_CONTRACTS)]}"]
            if p == 1:
                out += [f"    Default: {i}", "    Usage: InOut"]
        if methods:
            out.append("Methods:")
        for m in range(methods):
            out.append(f"  m{m}:")
            if m == 0:
                out.append("    Scope: Public")
            out += ["    Arguments:", "      - a:", "          Contract: $.int().notNull()", "    Body:"]
            out.append(_BODIES[m % len(_BODIES)])
        _write(Path(root) / package / "Classes" / f"C{i:04d}.yaml", out)
    _write(Path(root) / package / "manifest.yaml", manifest)


def versioned_packages(root: str | Path, package: str, n: int) -> None:
    """Writes n minor versions of a package with one class, side by side."""
    for i in range(n):
        base = Path(root) / f"{package}-{i}"
        _write(base / "manifest.yaml", [*_manifest(package, "multi", f"1.{i}.0"), f"  {package}.Thing: Thing.yaml"])
        thing = ["Namespaces:", f"  =: {package}", "", "Name: Thing", "", "Properties:", "  v:"]
        thing += ["    Contract: $.int()", f"    Default: {i}", "Methods:", "  get:", "    Scope: Public"]
        thing += ["    Body:", "      - Return: $.v"]
        _write(base / "Classes" / "Thing.yaml", thing)


def version_specs(n: int) -> list[str]:
    """Ten requirements a version, of four forms."""
    specs = []
    for i in range(10 * n):
        k = (i * 7) % n
        specs.append((f"=1.{k}.0", f">=1.{k}.0", f">=1.0.0,<1.{k + 1}.0", f"1.{k}")[i % 4])
    return specs


def parallel_package(root: str | Path, package: str, n: int) -> None:
    """Writes a class whose method `go` is a Parallel block of n branches."""
    base = Path(root) / package
    _write(base / "manifest.yaml", [*_manifest(package, "parallel", "0.1.0"), f"  {package}.Block: Block.yaml"])
    out = ["Namespaces:", f"  =: {package}", "", "Name: Block", "", "Properties:", "  done:"]
    out += ["    Contract: $.int().notNull()", "    Usage: Runtime", "    Default: 0", ""]
    out += ["Methods:", "  step:", "    Arguments:", "      - x:", "          Contract: $.int().notNull()"]
    out += ["    Body:", "      - $.done: $.done + $x", "", "  go:", "    Scope: Public", "    Body:"]
    out.append("      - Parallel:")
    out += [f"          - $.step({i})" for i in range(n)]
    out += ["        Limit: 1000", "      - Return: $.done"]
    _write(base / "Classes" / "Block.yaml", out)


_UI = (
    "$.app.name",
    "$.app.flavors.where($.ram > {0}).select($.name)",
    "'{1}-' + $.app.name",
    "$.app.count + {0}",
    "$.app.count > {0} and $.app.enabled",
    "switch($.app.count, $ > {0} => big, true => small)",
    "format('{{0}}-{1}', $.app.name)",
    "$.instances.select({{name => $.name, flavor => $.flavor}})",
    "$.instances.where($.flavor = 'f{0}').len()",
    "coalesce($.app.missing, 'd{1}')",
)


def ui_expressions(n: int) -> list[str]:
    """Expressions as they stand in form definitions; most differ from each other."""
    return [_UI[i % len(_UI)].format(i % 50, i) for i in range(n)]


def ui_data() -> Data:
    """What a person entered into the form."""
    app = {
        "name": "wordpress",
        "count": 25,
        "enabled": True,
        "missing": None,
        "flavors": [{"name": f"m{i}", "ram": i * 4} for i in range(10)],
    }
    return {"app": app, "instances": [{"name": f"vm{i}", "flavor": f"f{i % 4}"} for i in range(8)]}


def _manifest(package: str, name: str, version: str) -> list[str]:
    head = ["Format: MuranoPL/1.4", "Type: Library", f"FullName: {package}", f"Name: {name}"]
    return [*head, f"Version: {version}", "Classes:"]


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
