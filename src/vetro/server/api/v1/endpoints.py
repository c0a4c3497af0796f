"""Imports every module with endpoints, so that they are registered."""
