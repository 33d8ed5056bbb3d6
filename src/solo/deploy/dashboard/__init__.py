"""A web page that shows a run while it runs, served by a process of its own."""
