"""Archives of packages for tests of the catalog."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import yaml


def zipped(files: dict[str, str | bytes]) -> bytes:
    """A ZIP with exactly these entries."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return target.getvalue()


def archive(
    name: str = "com.example.App",
    version: str | None = None,
    *,
    files: dict[str, str | bytes] | None = None,
    classes: dict[str, str] | None = None,
    extends: str = "std:Application",
    **manifest: Any,
) -> bytes:
    """A sound package with one class of its own name; ``classes``: class name -> text of its file instead."""
    space, _, short = name.rpartition(".")
    text = f"Namespaces: {{'=': '{space}', std: io.murano}}\nName: {short}\nExtends: '{extends}'\n"
    text += (
        "Properties:\n  size: {Contract: $.int(), Default: 1}\nMethods:\n  deploy:\n    Body:\n    - Return: $.size\n"
    )
    texts = {name: text} if classes is None else classes
    content: dict[str, Any] = {"Format": "1.3", "Type": "Application", "FullName": name, **manifest}
    if version is not None:
        content["Version"] = version
    content["Classes"] = {key: f"{key}.yaml" for key in texts}
    return zipped(
        {
            "manifest.yaml": yaml.safe_dump(content, sort_keys=False),
            **{f"Classes/{key}.yaml": value for key, value in texts.items()},
            **(files or {}),
        }
    )
