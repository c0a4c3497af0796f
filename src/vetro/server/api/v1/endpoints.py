"""Imports every module with endpoints, so that they are registered."""

from vetro.server.api.v1 import deployments, environments, model, services, sessions, statistics, templates  # noqa: F401
from vetro.server.api.v1 import actions, schemas  # noqa: F401
from vetro.server.api.v1 import categories, packages  # noqa: F401
