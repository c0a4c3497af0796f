"""What a new version of a package breaks: both are compared, member by member, and contracts by values.

`comparison.compare` gives findings; each has a value that one version takes and the other refuses, or says that nobody
knows. Only the interface is compared: what methods do is not.
"""
