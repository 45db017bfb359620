"""Routes of the API, one file per subject; each calls the service and returns a view."""
