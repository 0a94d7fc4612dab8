"""Who may do what: tokens, the roles that they give, and a record of who did what. It knows nothing of HTTP."""
