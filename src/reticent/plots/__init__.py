"""Pictures, drawn from plain arrays and labels, in one style.

`shares` draws estimates with their intervals, `leakage_strip` what one report gave away, `tradeoff` privacy
against accuracy, `answers_needed` precision against the number of answers, `mechanisms_compared` plans of several
mechanisms, `designs_compared` those of designs for a number. Each returns a matplotlib `Figure`; `svg`
turns a figure into accessible inline SVG in the font and colours of the page.
"""

from reticent.plots.comparison import mechanisms_compared
from reticent.plots.estimates import shares
from reticent.plots.inline import svg
from reticent.plots.mechanisms import tradeoff
from reticent.plots.number_plan import designs_compared
from reticent.plots.sample_size import answers_needed
from reticent.plots.strip import leakage_strip
from reticent.plots.style import INK, STYLE
from reticent.plots.text import largest, percent, readable

__all__ = [
    "INK", "STYLE", "answers_needed", "designs_compared", "largest", "leakage_strip", "mechanisms_compared", "percent", "readable", "shares", "svg", "tradeoff",
]  # fmt: skip
