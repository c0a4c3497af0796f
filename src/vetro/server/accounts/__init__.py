"""Who there is: users, projects, memberships, tokens; and the rules that say who may do what."""
