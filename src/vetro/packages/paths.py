"""Paths inside packages: relative, with ``/``, and never out of the package."""

from __future__ import annotations

from vetro.diagnostics import Text

#: Longer names break file systems and fill messages.
MAX_PATH = 1024

MANIFEST = "manifest.yaml"


def inner_path(text: str) -> str:
    """``text`` as a clean path below some folder of the package (``a/./b//c`` -> ``a/b/c``).

    Raises `ValueError`, saying why, for paths that are empty, absolute or lead upwards, and for names that mean
    something else on some system (backslashes, drive letters, control characters).
    """
    if not text:
        raise ValueError(Text("the path is empty"))
    if len(text) > MAX_PATH:
        raise ValueError(Text("the path is longer than {max_path} characters", max_path=MAX_PATH))
    if text[0] == "/" or (len(text) > 1 and text[1] == ":" and text[0].isalpha()):
        raise ValueError(Text("the path is absolute"))
    if "\\" in text:
        raise ValueError(Text("the path has a backslash; folders are separated by '/'"))
    if not text.isprintable():
        raise ValueError(Text("the path has control characters"))
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(Text("the path leads out of its folder ('..')"))
    if not parts:
        raise ValueError(Text("the path is empty"))
    return "/".join(parts)
