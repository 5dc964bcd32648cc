"""The findings: one self-contained page of what was learned, what it cost and what was not protected."""

from reticent.findings.page import render

__all__ = ["render"]
