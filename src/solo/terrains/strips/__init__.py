"""Straight ground along +x made of segments: the paper's real-world terrains."""
