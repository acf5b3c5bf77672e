"""Other people's clients against our server, each in an environment of its own; see run.py."""
