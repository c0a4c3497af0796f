"""Addresses of forms, below /app/: where they begin, their pages, their end."""

from __future__ import annotations

from typing import Any

from django.urls import path

from vetro.server.web.views.wizard import begin, builders, steps, submit

urlpatterns: list[Any] = [
    path("environments/<str:environment>/add/<str:package>", begin.add),
    path("environments/<str:environment>/edit/<str:component>", begin.edit),
    path("templates/<str:template>/add/<str:package>", begin.add_to_template),
    path("templates/<str:template>/edit/<str:component>", begin.edit_in_template),
    path("quick/<str:package>", begin.quick),
    path("try/<str:package>", begin.try_out),
    path("forms/", begin.mine, name="forms"),
    path("forms/<str:form>/", steps.due),
    path("forms/<str:form>/<int:number>", steps.step),
    path("forms/<str:form>/<int:number>/choices", steps.choices),
    path("forms/<str:form>/<int:number>/password", steps.password),
    path("forms/<str:form>/switch", steps.switch),
    path("forms/<str:form>/start/<str:builder>", builders.start),
    path("forms/<str:form>/review", submit.review),
    path("forms/<str:form>/plan", submit.plan),
    path("forms/<str:form>/take", begin.take),
    path("forms/<str:form>/finish", submit.finish),
    path("forms/<str:form>/discard", begin.discard),
]
