"""Stored objects become those of other versions of their packages; nothing outside happens.

``steps`` says which renames and migrations an object has to go through, ``migration`` runs one of them, ``objects``
takes a tree of objects along, ``questions`` finds what has to be answered then, ``upgrade`` is the whole: a pure
function of a model, two tables of versions and answers. It runs package code, so it runs in a task process (kind
``migrate``).
"""
