"""The demo: a bundle walks over a terrain, on a page to play with or as pictures."""
