"""A client of the HTTP API: what the command line, and other programs in Python, talk to a control plane with.

`connection.Client` speaks to a server, `applying.apply` makes objects what manifests say, `errors` what may go wrong.
Nothing is imported here: most of the command line talks to nobody, and should not wait for an HTTP library.
"""
