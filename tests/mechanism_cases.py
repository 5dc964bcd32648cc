"""Every mechanism, once: the table that drives the laws. A new mechanism adds its rows here."""

from __future__ import annotations

import reticent as rt


def question(n_categories: int) -> rt.Categorical:
    return rt.Categorical("letter", [chr(ord("a") + i) for i in range(n_categories)])


MISSING_HALF = rt.Subset(question(5), ((2, 3), (3, 1)), keep=2**63 + 5, miss_sizes=((2, 1), (1, 4)))
DOUBTFUL = rt.Table.from_matrix(question(3), [[0.6, 0.3, 0.1], [0.4, 0.7, 0.9]])

CASES: dict[str, rt.Channel] = {
    **{f"uniform_subset({p})": rt.uniform_subset(question(p)) for p in (4, 5, 6)},
    **{f"fixed_size({p}, {k})": rt.fixed_size(question(p), k) for p, k in ((3, 2), (4, 2), (5, 3), (6, 2), (4, 4))},
    "sizes with the full set": rt.Subset(question(4), ((2, 2), (4, 1))),
    "sizes, not independent": rt.Subset(question(6), ((2, 5), (4, 3), (6, 2))),
    "subset that may miss": MISSING_HALF,
    "binary_dummy": rt.binary_dummy(question(2)),
    "binary_dummy uniform": rt.binary_dummy(question(2), 0.8, "uniform"),
    "ternary_dummy": rt.ternary_dummy(question(3), 0.3),
    "ternary_dummy uniform": rt.ternary_dummy(question(3), 0.5, "uniform"),
    **{f"randomized_response({p})": rt.randomized_response(question(p), 1.0) for p in (2, 3, 6)},
    "full_response": rt.full_response(question(4)),
    "no_response": rt.no_response(question(4)),
    "table from a matrix": DOUBTFUL,
    "table then table": rt.then(
        rt.Table.from_matrix(question(3), [[0.5, 0.25, 0.25], [0.5, 0.75, 0.75]], ["yes", "no"]),
        rt.binary_dummy(rt.Categorical("reply", ["yes", "no"])),
    ),
    "randomised response then subset": rt.then(
        rt.randomized_response(question(5), 2.0), rt.uniform_subset(question(5))
    ),
}

UNIDENTIFIABLE = {"no_response", "fixed_size(4, 4)", "table from a matrix", "table then table"}
