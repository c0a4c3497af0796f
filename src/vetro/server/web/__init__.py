"""The pages under /app: server-rendered templates with htmx and a few custom elements.

`page` makes views, ``views`` hold them by area, ``templates/web`` and ``static/web`` what they show. Views call the
same rules as the APIs and never run package expressions.
"""
