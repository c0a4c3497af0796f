"""docs/forms/api.md says what the service answers."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "forms" / "api.md"


def test_the_page_about_the_api(ann: Any, shop: Any, environment: str) -> None:
    def call(method: str, path: str, body: Any = None) -> Any:
        answer = ann.request(method, path, body)
        assert answer.status_code < 300, answer.content
        return answer.json()

    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = {"call": call, "ENVIRONMENT": environment, "PACKAGE": shop.id}
    test = doctest.DocTestParser().get_doctest("".join(blocks), names, PAGE.name, str(PAGE), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.attempted > 10
    assert not result.failed, "".join(told)
