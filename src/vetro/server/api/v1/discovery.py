"""Version discovery (API.md 2): what anybody gets who asks for something that is neither /v1 nor /v2."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse


def discovery(request: HttpRequest, status: int = 300) -> HttpResponse:
    """The versions of the API. No token needed."""
    base = f"{request.scheme}://{request.get_host()}"
    versions = [
        {"id": "v1.0", "status": "CURRENT", "links": [{"rel": "self", "href": f"{base}/v1/"}]},
        {"id": "v2", "status": "CURRENT", "links": [{"rel": "self", "href": f"{base}/v2/"}]},
    ]
    return HttpResponse(json.dumps({"versions": versions}), content_type="application/json", status=status)
