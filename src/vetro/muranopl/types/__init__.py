"""Linked classes, their members and native methods, and how expressions see them."""
