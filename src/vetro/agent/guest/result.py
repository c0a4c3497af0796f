"""Answers to plans (AGENT.md 4, Result): always JSON text, never larger than a message may be."""

from __future__ import annotations

import datetime
import json
import uuid
from typing import Any

from .errors import ANY, PlanError
from .framing import LARGEST

#: Bytes of an answer, with room for its envelope in which its quotes are escaped once more.
LONGEST = LARGEST // 2 - (64 << 10)


def success(source_id: str, value: Any) -> str:
    """The answer to a plan that ran. A value that is no JSON gives an error's answer."""
    try:
        text = json.dumps(_envelope(source_id, 0, value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return failure(source_id, PlanError(ANY, f"the plan returned what is no JSON: {error}"))
    if len(text) > LONGEST:
        return failure(
            source_id, PlanError(ANY, f"the plan returned {len(text)} bytes; an answer has at most {LONGEST}")
        )
    return text


def failure(source_id: str, error: BaseException) -> str:
    """The answer to a plan that failed."""
    code, info = ANY, None
    message = str(error) or type(error).__name__
    if isinstance(error, PlanError):
        code, message, info = error.error_code, error.message, error.additional_data
    body = {"Message": message[:100_000], "AdditionalInfo": info}
    try:
        text = json.dumps(_envelope(source_id, code, body), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = ""
    if not text or len(text) > LONGEST:
        text = json.dumps(_envelope(source_id, code, {**body, "AdditionalInfo": None}))
    return text


def plain(answer: dict[str, Any]) -> str:
    """The answer to a plan of format 1, which has no envelope."""
    text = json.dumps(answer)
    if len(text) <= LONGEST:
        return text
    message = f"the plan returned {len(text)} bytes; an answer has at most {LONGEST}"
    return json.dumps({"IsException": True, "Result": ["muranoagent.TooLarge", message, None, ""]})


def _envelope(source_id: str, code: int, body: Any) -> dict[str, Any]:
    return {
        "FormatVersion": "2.0.0",
        "ID": uuid.uuid4().hex,
        "SourceID": source_id,
        "Action": "Execution:Result",
        "ErrorCode": code,
        "Body": body,
        "Time": datetime.datetime.now(datetime.timezone.utc).isoformat(),
    }
