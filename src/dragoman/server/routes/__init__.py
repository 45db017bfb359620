"""The API, a file a subject; each is thin: a caller, a chore of the service, a view."""
