"""The wizard: filling in a form, page by page, up to the object, action or environment that it makes."""
