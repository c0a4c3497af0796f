"""Forms: what to ask a person before something is added, changed or called, and what becomes of the answers.

One neutral model (`vetro.forms.model`) stands between those who make forms (`vetro.forms.dynamic` from UI definitions,
`vetro.forms.generated` from classes and methods) and those who show them (pages, API, command line). Nothing in here
knows of Django, HTTP or clouds, and nothing runs package expressions in a server process: callers run them in a task
process and hand in plain data.

Generated forms, step by step (docs/forms/developing.md has an example)::

    describer = Describer(catalog)                       # catalog.Catalog: class schemas and inheritors, plain JSON
    described = describer.of("com.example.Shop")         # catalog.DescribedClass; None when the catalog lacks it
    objects = Objects(environment, describer)            # objects of the environment, for references
    form = Filler(describer, objects).form(described, stored or {})    # fill: a model.Form with values
    answers = object_answers(form, stored)               # answers: what a client edits; secrets are markers
    problems = Checker(describer, objects).problems(described, answers, stored)          # check
    changed = Merger(describer, new_id).merge(described, stored, answers)                # answers: the object model
    problems = problems_of(errors, answers)              # contracts: what a `check_model` task says, at the fields

`vocabulary` has the JSON Schema that answers must meet, `validation` applies it, `builders` has model builders and
actions, `form_source` the choice between definition and class form.
"""
