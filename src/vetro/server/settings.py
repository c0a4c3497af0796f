"""Django's settings, made from ours (`vetro.server.config`)."""

from __future__ import annotations

from typing import Any

from vetro.server.database import database_settings
from vetro.server.secret import django_secret
from vetro.server.setup import config as _config

_c = _config()

SECRET_KEY = django_secret(_c.path("secrets.key_file"))
VETRO_KEY_FILE = _c.path("secrets.key_file")
DEBUG = False
ALLOWED_HOSTS = list(_c["server.allowed_hosts"])
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = True
ROOT_URLCONF = "vetro.server.urls"
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES: dict[str, dict[str, Any]] = {"default": database_settings(_c)}
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "vetro.server.accounts",
    "vetro.server.catalog",
    "vetro.server.environments",
    "vetro.server.dispatch",
    "vetro.server.audit",
]
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
MIDDLEWARE: list[str] = []
STATIC_URL = "/static/"
LOGGING_CONFIG = None
DATA_UPLOAD_MAX_MEMORY_SIZE = _c["server.max_body_mib"] << 20
FILE_UPLOAD_MAX_MEMORY_SIZE = 8 << 20
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
