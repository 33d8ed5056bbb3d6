"""One self-contained page from result files: it draws and measures nothing.

`read` and `formats` recognise and check the files, `paper` has the paper's numbers. A
file per protocol (`stress`, `levels`, ...) says what of it is shown, with the parts of
`tables`, `svg`, `charts`, `spans` and `pictures`; `page` puts everything together.
Nothing here imports the simulation or torch, so results of another machine can be drawn
anywhere.
"""
