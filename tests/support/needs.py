"""What tests need of the machine: without it they are skipped, in CI they fail.

`script/system` installs what it may, `script/probe` says what is absent."""

from __future__ import annotations

import os

import pytest


def need(lack: str | None) -> None:
    """Skips the test when this machine lacks something; in CI that is a failure."""
    if lack is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must be able to run this, but: {lack}")
        pytest.skip(lack)


def needs(there: object, what: str) -> pytest.MarkDecorator:
    """The same as a mark: in CI the test runs, and fails without ``what``."""
    return pytest.mark.skipif(not there and os.environ.get("CI") != "true", reason=f"needs {what}")
