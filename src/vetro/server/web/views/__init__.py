"""Views by area; each module has the functions that its addresses call."""
