"""Procedures: work of several tasks that is one thing for people, such as an update that can be taken back."""
