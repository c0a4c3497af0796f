"""Django's PostgreSQL backend with statements that are prepared where nothing stands before the server (`base`)."""
