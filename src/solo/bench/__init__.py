"""Benchmarks: each measures what it compares in one run, as ratios of one machine."""
