"""The parts of `reproductions.interval_privacy`: the mean experiment, the two figures, exact numbers, tables and pictures."""
