"""What a person is told after the last step (DYNAMIC_UI 7)."""

from __future__ import annotations

FAILED = "Adding application to an environment failed."
DEPLOYING = "Sorry, you can't add application right now. The environment is deploying."


def added(package_name: str) -> str:
    """That all went well."""
    return f"The '{package_name}' application successfully added to environment."
