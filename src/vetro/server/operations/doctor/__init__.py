"""`vetro doctor` of an installation: everything around a service that can be wrong, each with what to do about it.

`examine` (module `checks`) looks from the machine that it runs on, with its settings, as the user who runs it; `remote`
asks a server by its address. What is in the database and whether it fits is `vetro.server.operations.database.check`,
which is part of it.
"""
