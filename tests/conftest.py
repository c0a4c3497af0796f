"""Settings of all tests: the same examples in every run, and no time limit on a single example on a busy machine."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("vetro", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("vetro")

os.environ.setdefault("VETRO_CACHE", "off")
