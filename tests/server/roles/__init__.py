"""Who may use which route: every route of /v1, /v2 and the pages, as every role."""
