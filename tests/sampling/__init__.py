"""Tests of how tokens are picked."""
