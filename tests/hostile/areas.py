"""The areas of attacks: what a mark ``attack(area, finding)`` may name first."""

from __future__ import annotations

from typing import Final

#: Area: what is attacked.
AREAS: Final = {
    "accounts": "signing in, roles, passwords, keys of projects",
    "agent": "plans, answers and files between the service and agents in servers",
    "bodies": "requests that are slow, huge, deep or odd",
    "broker": "RabbitMQ and what guests may do there",
    "data": "records, backups, disks that are full, clocks that jump",
    "database": "values that databases refuse, long transactions, budgets of rows",
    "effects": "what tasks ask of the world outside",
    "language": "expressions, classes, models, the compiler and its cache",
    "networks": "addresses, routes, rules and what guests reach",
    "pages": "what browsers show and run",
    "processes": "what a hostile task or guest can do to the machine",
    "quotas": "using up what others need",
    "routes": "each route of the service with the ids of somebody else",
    "secrets": "passwords and keys in messages, logs, exports",
    "streams": "open connections and events",
    "templates": "resources and properties of stacks",
    "terminal": "what the command line prints",
    "tokens": "what a token may and when it ends",
    "uploads": "archives, bundles, images and imports by address",
}
