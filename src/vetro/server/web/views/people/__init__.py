"""One's own profile and tokens; for administrators people, projects, roles; who changed what."""
