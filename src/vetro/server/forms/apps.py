"""The Django app of forms in work. Its tables keep the name that the first databases have."""

from __future__ import annotations

from django.apps import AppConfig


class FormsConfig(AppConfig):
    """Migrations and tables are called by ``label``."""

    name = "vetro.server.forms"
    label = "formdesk"
