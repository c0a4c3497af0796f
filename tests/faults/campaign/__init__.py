"""The kill campaign (``python -m tests.faults``): a whole installation whose processes are killed while it deploys.

`backing` starts the database and the message broker, `installation` the servers and workers, `clients` orders
deployments over HTTP, `strikes` kills, `verdict` looks at what was done and told, `campaign` binds them together.
"""
