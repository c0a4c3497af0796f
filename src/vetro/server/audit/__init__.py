"""Audit records: who changed what, when, from where."""
