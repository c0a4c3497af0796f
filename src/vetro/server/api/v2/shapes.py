"""What the schemas of /v2 have in common: pages, errors, names of fields."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from ninja import Field, Schema
from pydantic import ConfigDict, StringConstraints

T = TypeVar("T")

Name = Annotated[str, StringConstraints(min_length=1, max_length=255)]
LongText = Annotated[str, StringConstraints(max_length=65_536)]
Short = Annotated[str, StringConstraints(max_length=512)]
Model = dict[str, Any]


class Given(Schema):
    """What clients send. Keys that nobody knows are refused: they are typing errors."""

    model_config = ConfigDict(extra="forbid", regex_engine="python-re")


class Page(Schema, Generic[T]):
    """Part of a list. ``next`` is the cursor of the next part, null at the end."""

    items: list[T]
    total: int | None = Field(None, description="How many there are in all; null where counting costs too much.")
    next: str | None = Field(None, description="Give it as `cursor` to get what follows.")


class Problem(Schema):
    """An error."""

    code: str = Field(description="Stable; docs/errors.md lists all.", examples=["SRV404"])
    status: int = Field(examples=[404])
    message: str
    hint: str | None = Field(None, description="What to do about it.")
    details: Any = Field(None, description="Plain data: what is in the way, what there is.")


class Failure(Schema):
    """How every error is answered."""

    error: Problem
