"""Benchmarks: scripts, never timed asserts."""
