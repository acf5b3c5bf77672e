"""Tests with the default model under real gunicorn: what a user sees from outside."""
