"""Every mechanism, once: the table that drives the laws. A new mechanism adds its rows here."""

from __future__ import annotations

import math

import reticent as rt
from reticent.mechanisms import progressive, with_refusal


def question(n_categories: int) -> rt.Categorical:
    return rt.Categorical("letter", [chr(ord("a") + i) for i in range(n_categories)])


def other(n_categories: int) -> rt.Categorical:
    return rt.Categorical("digit", [str(i) for i in range(n_categories)])


def pair(first: int, second: int) -> rt.Channel:
    return rt.Subset(rt.ProductDomain([question(first), other(second)]), title="pair, uniform subset")


MISSING_HALF = rt.Subset(question(5), ((2, 3), (3, 1)), keep=2**63 + 5, miss_sizes=((2, 1), (1, 4)))
DOUBTFUL = rt.Table.from_matrix(question(3), [[0.6, 0.3, 0.1], [0.4, 0.7, 0.9]])

STAR = {("a", "b"): "1/3", ("a", "c"): "1/3", ("a", "d"): "1/3", ("b", "c", "d"): "2/3"}

NUMBER = rt.Numbers("x", 0, 5, edges=[1, 2, 3, 4])
MASSES = [0.1, 0.2, 0.3, 0.3, 0.1]

CASES: dict[str, rt.Channel] = {
    **{f"uniform_subset({p})": rt.uniform_subset(question(p)) for p in (4, 5, 6)},
    **{f"fixed_size({p}, {k})": rt.fixed_size(question(p), k) for p, k in ((3, 2), (4, 2), (5, 3), (6, 2), (4, 4))},
    "sizes with the full set": rt.Subset(question(4), ((2, 2), (4, 1))),
    "sizes, not independent": rt.Subset(question(6), ((2, 5), (4, 3), (6, 2))),
    "size_weighted": rt.size_weighted(question(5), {1: 0.1, 2: 0.4, 3: 0.25, 5: 0.25}, allow_singletons=True),
    "random_nonresponse": rt.random_nonresponse(rt.uniform_subset(question(5)), "1/3"),
    "optimal_sizes": rt.optimal_sizes(question(4), 0.5),
    "optimal_sizes independent": rt.optimal_sizes(question(5), 0.5, independent=True),
    "explicit_subsets": rt.explicit_subsets(question(4), STAR),
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
    "pair": pair(2, 2),
    "pair of two and three": pair(2, 3),
    "product": rt.Product([rt.fixed_size(question(3), 2), rt.randomized_response(other(2), 1.0)]),
    "product with a composition": rt.Product([rt.binary_dummy(question(2), 0.8, "uniform"), rt.binary_dummy(other(2))]),
    "product of subsets": rt.Product([rt.uniform_subset(question(4)), rt.fixed_size(other(3), 2)]),
    "case_one": rt.case_one(NUMBER, [1, 2, 4, 3]),
    "random_ranges": rt.random_ranges(NUMBER, 3, [1, 2, 4, 3]),
    "ring": rt.ring(NUMBER, 0.2, pilot=MASSES),
    "selective ring": rt.selective(rt.ring(NUMBER, 0.2, pilot=MASSES), 0.5, pilot=MASSES),
    "selective with drawn floors": rt.selective(rt.case_two(NUMBER), {0.2: 1, "1/3": 2, 0.6: 3}, 0.75, pilot=MASSES),
    "case_one with an acceptable range": rt.case_one(NUMBER, [1, 2, 4, 3], acceptable_ranges=[1]),
    "random_ranges with acceptable ranges": rt.random_ranges(NUMBER, 4, [1, 2, 4, 3], acceptable_ranges=[1, 3]),
    "progressive": progressive(NUMBER, 2, 0.1, MASSES),
    "progressive, floors of their own": progressive(
        NUMBER, 3, 0.1, MASSES, [3, 1, 4, 2], floors={0.2: 1, "1/3": 2, 0.6: 1}
    ),
    "progressive, one floor for all": progressive(NUMBER, 2, pilot=MASSES, floors={0.4: 1}),
    "progressive with refusal": with_refusal(progressive(NUMBER, 2, 0.1, MASSES), drop="1/5"),
    "subsets with refusal": with_refusal(rt.uniform_subset(question(4))),
    "ring with refusal and dropped answers": with_refusal(rt.ring(NUMBER, 0.2, pilot=MASSES), drop=0.25),
    "lazy case_one with acceptable numbers": rt.lazy(rt.case_one(NUMBER, acceptable=(1, 3)), 0.5),
    "transformed ring": rt.transformed(
        rt.ring(NUMBER, 0.2, pilot=MASSES), rt.Numbers("y", 0, 25, edges=[1, 4, 9, 16]), math.sqrt
    ),
}

# Nobody's value is known of those who refuse, so the joint shares of value and willingness are never identified.
REFUSALS = {name for name in CASES if "with refusal" in name}
UNIDENTIFIABLE = {"no_response", "fixed_size(4, 4)", "table from a matrix", "table then table", *REFUSALS}
