"""Quotas: what a project may have at most, what it has, and who changes that (table: `vetro.clouds.quotas`)."""
