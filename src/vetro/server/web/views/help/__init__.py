"""Help inside the product: the pages of docs/ as pages, and the drawer that explains the page beside it."""
