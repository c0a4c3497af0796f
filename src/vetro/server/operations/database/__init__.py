"""Care of the database: bringing tables up to date (`schema`), examining an installation (`check`), saving it in a file
(`backup`, `restore`), and moving it from one database to another (`move`). `vetro db` calls these; `vetro serve` and
`vetro worker` make sure that tables and program fit.
"""
