"""This package turns a command line into a running server."""
