"""The HTTP server: processes, limits of what arrives, and the WSGI application."""
