"""Training: one file per stage, profiles as data."""
