"""Shared by all tests: no window opens for a plot, and the same examples are tried in every run."""

from __future__ import annotations

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("reproducible")
