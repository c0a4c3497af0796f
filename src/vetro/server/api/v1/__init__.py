"""Murano's API (API.md). `routing` finds the endpoint of a request, the other modules hold the endpoints."""
