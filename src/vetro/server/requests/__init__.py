"""What one request may take, how long it may last, and who asks: limits that all doors share."""
