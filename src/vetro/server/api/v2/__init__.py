"""/v2: Vetro's own API, described by OpenAPI at /v2/openapi.json (docs/api.md)."""
