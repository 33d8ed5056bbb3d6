"""Watching a policy: on a page in the browser, or as a clip, plots and numbers."""
