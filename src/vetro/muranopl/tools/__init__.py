"""What people develop packages with: coverage, debugger, fixtures of tests, drawn errors."""
