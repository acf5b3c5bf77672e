"""The server seen from outside: both pages, the reference of its behaviour row by row, and what strangers send."""
