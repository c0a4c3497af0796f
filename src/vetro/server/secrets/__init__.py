"""Encryption of what the database stores, and the keys for it."""
