"""Object models as plain data: dicts, lists and scalars, as JSON has them. Nothing here knows classes or runs code.

An **object** is a mapping with a **header**, the mapping under ``?``: ``{"?": {"id": …, "type": …}, "name": …}``. The
mapping that holds it, at whatever depth, owns it. A text that equals an id may be a reference to the object with that
id. The **root object** of a model is its environment, which has a list of applications.

``header`` reads what one object says of itself, ``tree`` walks and finds objects and copies trees, ``paths`` finds and
changes parts by their address, ``edit`` takes objects out and puts them back, ``differences`` compares two models,
``copies`` makes objects that can be deployed a second time, ``secrets`` marks and masks secret values,
``environment`` is the root object and what is around it.

All functions use explicit stacks: models come from clients, and their depth must not cost Python frames. What a model
may contain is not checked here; the compiler's loader (`vetro.muranopl.objects`) and the service do that.
"""
