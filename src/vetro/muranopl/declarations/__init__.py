"""What a package file declares: trees of declarations, versions, and how both are kept."""
