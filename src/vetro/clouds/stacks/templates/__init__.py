"""HOT and CFN templates as data: definitions, functions, parameters, environments, limits."""
