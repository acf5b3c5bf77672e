"""This package turns the inside of a tool call, in the forms that models write it, into a name and JSON arguments."""
