"""Packages made of a Heat template (PACKAGES 4)."""
