"""Forms: what to ask a person before something is added, changed or called, and what becomes of the answers.

One neutral model (`vetro.forms.model`) stands between those who make forms (`vetro.forms.dynamic` from UI definitions,
seed 000; `vetro.forms.generated` from classes and methods, seed 001) and those who show them (pages, API, command
line). Nothing in here knows of Django, HTTP or clouds, and nothing runs package expressions in a server process:
callers run them in a task process and hand in plain data.
"""
