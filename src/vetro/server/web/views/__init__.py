"""Views by area; each module has the functions that its addresses call. `palette` is the search of Ctrl-K."""
