"""Benchmarks, one thread each: the libraries read these variables when they are first imported."""

import os

for library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
