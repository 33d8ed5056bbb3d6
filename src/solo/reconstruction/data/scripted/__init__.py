"""Robots that walk over terrain by script, without physics and without a policy."""
