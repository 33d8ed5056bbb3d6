"""Robots and cameras behind two small protocols, see `protocols`."""
