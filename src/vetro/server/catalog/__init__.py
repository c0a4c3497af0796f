"""The catalog: packages with versions, classes, requirements, categories and tags; import, rules, search."""
