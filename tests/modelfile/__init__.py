"""Tests of the model file reader and of fetching models."""
