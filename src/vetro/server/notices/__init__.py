"""Notices: people and programs elsewhere are told what happens in a project."""
