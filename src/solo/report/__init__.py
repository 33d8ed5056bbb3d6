"""One self-contained page from result files: it draws and measures nothing.

`read` finds files and names the policies in them, `paper` has the paper's numbers. A
file per topic (`stress`, `levels`, `strips`, `robustness`, `recon`) says what is
shown, with the parts of `parts`, `figures` and `failures`; `page` puts them through the
templates. Nothing here imports the simulation or torch, so results of another machine
can be drawn anywhere.
"""
