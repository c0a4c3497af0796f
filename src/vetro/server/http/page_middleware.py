"""Middleware that only the pages (``/app``) need: sessions, CSRF, who is signed in, messages, language, headers.

Clients of the APIs bring a token with each request and pay for none of it. Each class is Django's own, stepping
aside for other paths.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import timezone, translation

from vetro.server.accounts.web_sessions import LANGUAGE, ZONE
from vetro.server.web.page import receive

#: Nothing from other hosts, no scripts or styles in the page itself, no frames, no plug-ins.
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def is_page(request: HttpRequest) -> bool:
    """Whether a request is for a page."""
    path = request.path_info
    return path.startswith("/app/") or path == "/app"


class _PagesOnly:
    """Put before a middleware of Django."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer: HttpResponseBase
        # A name that the next class in line has: Django's middleware.
        answer = super().__call__(request) if is_page(request) else self.get_response(request)  # type: ignore[misc]
        return answer


class Security(_PagesOnly, SecurityMiddleware):
    """Headers that Django sets, and the content security policy."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Adds what is not there yet."""
        response = super().process_response(request, response)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("X-Frame-Options", "DENY")
        # What a page shows is for one person, and may be another a moment later.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class Sessions(_PagesOnly, SessionMiddleware):
    """Web sessions."""


class Language(_PagesOnly, LocaleMiddleware):
    """The language and the time zone of the page: what the person chose, else the browser's language, and UTC.

    What /v2 says is in the language that the request asks for, if it asks for one.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers; the thread, which serves other people next, keeps neither."""
        try:
            if request.path_info.startswith("/v2/") and request.headers.get("Accept-Language"):
                translation.activate(translation.get_language_from_request(request))
            return super().__call__(request)
        finally:
            translation.deactivate()
            timezone.deactivate()

    def process_request(self, request: HttpRequest) -> None:
        """Before the view."""
        super().process_request(request)
        if not request.COOKIES.get(settings.SESSION_COOKIE_NAME):
            return
        language, zone = request.session.get(LANGUAGE), request.session.get(ZONE)
        if language:
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language() or language
        if zone:
            timezone.activate(zone)


class Csrf(_PagesOnly, CsrfViewMiddleware):
    """Refuses forms that other sites send."""

    def process_view(self, request: HttpRequest, callback: Any, callback_args: Any, callback_kwargs: Any) -> Any:
        """The check itself; Django calls it for every view."""
        if not is_page(request):
            return None
        refused = receive(request)
        return (
            refused if refused is not None else super().process_view(request, callback, callback_args, callback_kwargs)
        )


class Account(_PagesOnly, AuthenticationMiddleware):
    """``request.user``."""

    def process_view(self, request: HttpRequest, callback: Any, callback_args: Any, callback_kwargs: Any) -> Any:
        """Nothing: pages say themselves whom they are for."""
        return None


class Messages(_PagesOnly, MessageMiddleware):
    """Notes that the next page shows."""
