"""Django's SQLite backend with writers that wait in line instead of sleeping (`base`)."""
