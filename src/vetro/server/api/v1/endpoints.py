"""Imports every module with endpoints, so that they are registered."""

from vetro.server.api.v1 import (  # noqa: F401  # noqa: F401  # noqa: F401
    actions,
    categories,
    deployments,
    environments,
    model,
    packages,
    schemas,
    services,
    sessions,
    statistics,
    templates,
)
