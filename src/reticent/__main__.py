"""`python -m reticent`: the command line."""

from reticent.cli import main

main(prog_name="reticent")
