"""Django's settings, made from ours (`vetro.server.config.config`)."""

from __future__ import annotations

from typing import Any

from vetro.server import large_requests
from vetro.server.database import database_settings
from vetro.server.language import compiled
from vetro.server.secrets.django_key import django_secret
from vetro.server.setup import config as _config
from vetro.server.tasks.backends import django_settings

_c = _config()

SECRET_KEY = django_secret(_c.path("secrets.key_file"))
VETRO_KEY_FILE = _c.path("secrets.key_file")
DEBUG = False
ALLOWED_HOSTS = ["*"]  # `vetro.server.requests.host_names` looks at every request, Django at a few
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_I18N = True
LOCALE_PATHS = [folder for folder in (compiled(_c.data),) if folder is not None]
ROOT_URLCONF = "vetro.server.urls"
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES: dict[str, dict[str, Any]] = {"default": database_settings(_c)}
_dispatch = django_settings(_c)
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "vetro.server.accounts",
    "vetro.server.quotas",
    "vetro.server.catalog",
    "vetro.server.environments",
    "vetro.server.impact",
    "vetro.server.watch",
    "vetro.server.procedures",
    "vetro.server.notices",
    "vetro.server.tasks",
    "vetro.server.audit",
    "vetro.server.forms",
    "vetro.server.retention",
    "vetro.server.web",
    *_dispatch.pop("INSTALLED_APPS"),
]
globals().update(_dispatch)
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csrf",
                "django.contrib.messages.context_processors.messages",
                "vetro.server.web.context.shell",
            ]
        },
    }
]
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
# Named here, not imported: the module needs settings. They step aside for everything but pages
# (`vetro.server.http.page_middleware`).
MIDDLEWARE = [
    f"vetro.server.http.page_middleware.{name}"
    for name in ("Security", "Sessions", "Language", "Csrf", "Account", "Messages")
]
STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "vetro.server.http.static_files.Storage"},
}
LOGGING_CONFIG = None
# Of fields beside files; whole bodies are measured where they arrive (`vetro.server.http.request_bodies`).
DATA_UPLOAD_MAX_MEMORY_SIZE = large_requests.ONE
FILE_UPLOAD_MAX_MEMORY_SIZE = 1 << 20
SESSION_ENGINE = "vetro.server.accounts.sessions"
SESSION_COOKIE_NAME = "vetro_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "vetro_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
# Cookies stay off plain HTTP where the service is reached through HTTPS.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = str(_c["server.public_url"]).startswith("https://")
SECURE_REFERRER_POLICY = "same-origin"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
