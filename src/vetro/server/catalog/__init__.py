"""The catalog: packages with versions, categories, search; who may see and change them."""
