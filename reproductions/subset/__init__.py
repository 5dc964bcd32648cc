"""The parts of `reproductions.subset_privacy`: the population, one module for each figure, and the paper's claims."""
