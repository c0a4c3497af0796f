"""Care of the database: bringing tables up to date (`schema`), examining an installation (`check`), and moving it from
one database to another (`move`). `vetro db` calls these; `vetro serve` and `vetro worker` make sure that they fit.
"""
