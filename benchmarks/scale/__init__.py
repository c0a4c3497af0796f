"""What deployments and requests cost, and how that grows with the number of workers and of rows (docs/scale.md)."""
