"""Commands that reproduce the figures and tables of the papers behind reticent, and say where their words do not hold."""
