"""The service: a Django project of accounts, catalog, environments, tasks and the APIs.

`vetro.server.config.config` holds the settings, `vetro.server.setup.setup` starts Django with them. Rules live in plain
functions (``accounts.service``, ``catalog.*``, ``environments.*``, ``tasks.*``) that take a `Caller` and raise
`vetro.server.errors`; ``api`` and ``web`` only translate. What each folder is: docs/internals.md, "The service".
"""
