"""What is dropped after a while: rows, archives and logins that nobody needs any more."""
