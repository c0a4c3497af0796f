"""Pages of the catalog: finding an application, understanding it, adding it to an environment."""
