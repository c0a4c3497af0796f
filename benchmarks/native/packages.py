"""Cold loads: libyaml and dictionaries, nothing parsed or compiled. A floor rather than an equal."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from benchmarks.native.base import Native, nothing
from benchmarks.workloads import generate

LIBRARY = Path(__file__).resolve().parents[2] / "src" / "vetro" / "library"
Number = tuple[int, ...]


class Loader(yaml.CSafeLoader):
    """Takes `!yaql` for text."""


Loader.add_constructor("!yaql", lambda loader, node: str(node.value))


def read_all(path: Path) -> list[Any]:
    with open(path, "rb") as file:
        return list(yaml.load_all(file.read(), Loader=Loader))


def read_yaml(path: Path) -> Any:
    return read_all(path)[0]


def core(n: int, state: Any) -> str:
    count = 0
    for package in ("io.murano", "io.murano.applications"):
        root = LIBRARY / package
        if not root.is_dir():
            continue
        for path in read_yaml(root / "manifest.yaml")["Classes"].values():
            read_all(root / "Classes" / path)
            count += 1
    return "loaded" if count else "nothing to load"


def prepare_big(n: int, tmp: str) -> str:
    generate.class_package(tmp, "bench.big", n, properties=5, methods=4)
    return tmp


def big(n: int, tmp: str) -> list[Any]:
    root = Path(tmp) / "bench.big"
    out = []
    for name, path in read_yaml(root / "manifest.yaml")["Classes"].items():
        data = read_yaml(root / "Classes" / path)
        out.append([name, len(data["Properties"]), len(data["Methods"])])
    return out


def prepare_versions(n: int, tmp: str) -> str:
    generate.versioned_packages(tmp, "bench.multi", n)
    return tmp


def numbers(text: str) -> Number:
    return tuple(int(part) for part in text.split("."))


def bounds(spec: str) -> tuple[Number, Number | None]:
    low: Number = (0, 0, 0)
    high: Number | None = None
    for part in spec.split(","):
        found = re.match(r"(>=|<|=)?(.*)", part)
        assert found is not None
        version = numbers(found[2])
        if found[1] == ">=":
            low = version
        elif found[1] == "<":
            high = version
        else:
            low = version + (0,) * (3 - len(version))
            high = (*version[:-1], version[-1] + 1)
    return low, high


def versions(n: int, tmp: str) -> list[str]:
    found: dict[Number, Any] = {}
    for folder in os.listdir(tmp):
        manifest = read_yaml(Path(tmp) / folder / "manifest.yaml")
        found[numbers(manifest["Version"])] = read_all(Path(tmp) / folder / "Classes" / "Thing.yaml")
    newest_first = sorted(found, reverse=True)
    # A version that was chosen once is preferred, as the engine does.
    chosen: list[Number] = []
    out = []
    for spec in generate.version_specs(n):
        low, high = bounds(spec)
        hits: list[Number] = []
        for pool in (sorted(chosen, reverse=True), newest_first):
            hits = [v for v in pool if v >= low and (high is None or v < high)]
            if hits:
                break
        if hits[0] not in chosen:
            chosen.append(hits[0])
        out.append(".".join(map(str, hits[0])))
    return out + [f"1.{i}.0" for i in range(n)]


NATIVE = {
    "j1_core": Native(nothing, core),
    "j2_big": Native(prepare_big, big),
    "j3_versions": Native(prepare_versions, versions),
}
