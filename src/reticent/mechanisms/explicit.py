"""Explicit designs: any list of sets with their masses, checked to reveal nothing but the set."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from reticent.channel import Table
from reticent.domain import Categorical
from reticent.errors import ParameterError
from reticent.mechanisms.balance import Members, corrected, coverage, nearest, obstruction, rank_of
from reticent.mechanisms.chances import Chance, all_exact, as_chance
from reticent.mechanisms.subsets import smallest_integers

_TOLERANCE = Fraction(1, 10**9)
_MOST_CELLS = 2**20
_MOST_SETS = 2**12
_SHOWN = 5


def explicit_subsets(
    domain: Categorical, sets: Mapping[tuple[str, ...], Chance], allow_singletons: bool = False
) -> Table:
    """Report one of the listed sets of categories that hold the answer, each with its own mass.

    P(a | x) = 1{x in a} · mass of a. So the report says nothing but "the answer is in this set", which needs masses that
    sum to 1 over the sets that hold each category: exactly for fractions, whole numbers and text such as "1/3", within
    1e-9 for floats, which are then settled as fractions that sum exactly. `complete` finds such masses.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013), conditional mechanism; sections 2 and 3.3 of our
    specification (μ_a is the mass of a). Raises ParameterError, naming the set or category, for masses that are negative,
    not finite or do not sum to 1, a set given twice, a label that is no category, an empty set with a positive mass, and
    a single category unless `allow_singletons`. Warns when the shares cannot be estimated from the reports.

    >>> star = {("a", "b"): "1/3", ("a", "c"): "1/3", ("a", "d"): "1/3", ("b", "c", "d"): "2/3"}
    >>> channel = explicit_subsets(Categorical("letter", ["a", "b", "c", "d"]), star)
    >>> channel.n_reports, [str(chance) for chance in channel.exact_row(3)]
    (4, ['0', '2/3', '2/3', '2/3'])
    """
    if not isinstance(sets, Mapping):
        raise ParameterError('The sets map each tuple of categories to its mass, as in {("a", "b"): "1/2", ...}.')
    p = len(domain)
    masses = _masses(domain, sets)
    for members in masses:
        if len(members) == 1 and not allow_singletons:
            raise ParameterError(
                f"The set {_told(domain, members)} is a single category, the answer itself. Give it the mass 0, or say "
                "allow_singletons=True.",
                members=members,
            )
    exact = all_exact(sets.values())
    _require_balance(domain, masses, Fraction(0) if exact else _TOLERANCE)
    if not exact:
        masses = _settled(masses, p)
    if (rank := rank_of([*masses], p)) < p:
        warnings.warn(
            f'The sets on "{domain.name}" have rank {rank} of {p}: different shares give the same reports, so shares cannot '
            "be estimated. Add sets that tell the categories apart.",
            stacklevel=2,
        )
    return _table(domain, masses)


def complete(
    domain: Categorical, sets: Iterable[Iterable[str]], target: Mapping[tuple[str, ...], Chance] | None = None
) -> dict[tuple[str, ...], Fraction]:
    """Masses for `explicit_subsets` on the listed sets: the balanced ones nearest to a target.

    Minimises Σ_a (μ_a − target_a)² subject to Σ_{a∋j} μ_a = 1 for every category j and μ_a ≥ 0. Without a target all
    masses are as equal as they can be; a set the target does not name has the target 0. The masses are fractions that
    meet the condition exactly; unneeded sets get 0.

    Source: section 3.3 of our specification, for Wang and Ding, Subset Privacy (arXiv 2107.02013).
    Raises ParameterError when no masses are balanced, naming the categories that stand in the way, and for sets or
    targets that cannot be read.

    >>> letters = Categorical("letter", ["a", "b", "c", "d"])
    >>> masses = complete(letters, [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c", "d")])
    >>> [str(mass) for mass in masses.values()]
    ['1/3', '1/3', '1/3', '2/3']
    """
    p = len(domain)
    listed = _listed(domain, sets)
    if not 0 < len(listed) <= _MOST_SETS:
        raise ParameterError(f"complete got {len(listed):,} sets; it takes 1 to {_MOST_SETS:,}.", n_sets=len(listed))
    if uncovered := [domain.categories[j] for j in sorted({*range(p)}.difference(*listed))]:
        raise ParameterError(f"No set holds {_quoted(uncovered)}; add sets that do.", labels=uncovered)
    if (against := obstruction([*listed], p)) is not None:
        raise ParameterError(_unbalanced(domain, against.tolist()))
    if target is None:
        wanted = [Fraction(p, sum(len(members) for members in listed))] * len(listed)
    else:
        wanted = _wanted(domain, listed, target)
    found = nearest([*listed], wanted, p)
    if found is None:
        raise ParameterError(
            f"The nearest masses of the {len(listed)} sets could not be settled as fractions; give a target of fractions "
            "that is nearer to balance, or fewer sets."
        )
    return dict(zip(listed.values(), found, strict=True))


# --- reading sets ----------------------------------------------------------------------------------------------------


def _masses(domain: Categorical, sets: Mapping[tuple[str, ...], Chance]) -> dict[Members, Fraction]:
    """The positive masses, by the positions of the members, in the order of the bit masks of the sets."""
    given: dict[Members, Fraction] = {}
    for members, labels in _listed(domain, sets, allow_empty=True).items():
        mass = as_chance(sets[labels], f"The mass of {_told(domain, members)}")
        if mass and not members:
            raise ParameterError(
                f"The empty set has the mass {sets[labels]!r}, but no answer is in it; leave it out.", mass=mass
            )
        given[members] = mass
    if sum(map(len, given)) > _MOST_CELLS:
        raise ParameterError(f"{len(given):,} sets are too many to list; use uniform_subset or size_weighted.")
    return {members: given[members] for members in sorted(given, key=lambda one: one[::-1]) if given[members]}


def _listed(
    domain: Categorical, sets: Iterable[Iterable[str]], allow_empty: bool = False
) -> dict[Members, tuple[str, ...]]:
    """The positions of each set, with its labels as they were given."""
    listed: dict[Members, Any] = {}
    lookup = {label: code for code, label in enumerate(domain.categories)}
    for labels in sets:
        members = _members(domain, labels, lookup)
        if members in listed:
            raise ParameterError(
                f"The set {_told(domain, members)} is given twice; give it once, with the sum of the masses.",
                members=members,
            )
        if not members and not allow_empty:
            raise ParameterError("One of the sets is empty, and no answer is in it; leave it out.")
        listed[members] = labels if isinstance(labels, tuple) else tuple(domain.categories[j] for j in members)
    return listed


def _members(domain: Categorical, labels: Any, lookup: Mapping[str, int]) -> Members:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ParameterError(
            f"{labels!r} is no set; write it as a list of categories, as in [{_quoted(domain.categories[:2], ', ')}]."
        )
    named = [str(label) if isinstance(label, int) and not isinstance(label, bool) else label for label in labels]
    for label in named:
        if not isinstance(label, str) or label not in lookup:
            raise ParameterError(
                f'The set {_listing(named)} names {label!r}, which is no category of "{domain.name}"; there are '
                f"{', '.join(domain.categories[:_SHOWN])}{', …' if len(domain) > _SHOWN else ''}.",
                label=label,
            )
    members = tuple(sorted(lookup[label] for label in named))
    if len(set(members)) < len(members):
        raise ParameterError(f"The set {_listing(named)} names a category twice; name it once.")
    return members


def _wanted(
    domain: Categorical, listed: Mapping[Members, tuple[str, ...]], target: Mapping[tuple[str, ...], Chance]
) -> list[Fraction]:
    if not isinstance(target, Mapping):
        raise ParameterError('The target maps sets to masses, as in {("a", "b"): "1/2", ...}.')
    given = {
        members: as_chance(target[labels], f"The target of {_told(domain, members)}")
        for members, labels in _listed(domain, target).items()
    }
    for members in given:
        if members not in listed:
            raise ParameterError(
                f"The target names {_told(domain, members)}, which is not among the sets; add it to them.",
                members=members,
            )
    return [given.get(members, Fraction(0)) for members in listed]


# --- the condition ---------------------------------------------------------------------------------------------------


def _require_balance(domain: Categorical, masses: Mapping[Members, Fraction], tolerance: Fraction) -> None:
    sums = coverage([*masses], [*masses.values()], len(domain))
    off = {label: total for label, total in zip(domain.categories, sums, strict=True) if abs(total - 1) > tolerance}
    if off:
        told = ", ".join(f'"{label}" {_number(total)}' for label, total in list(off.items())[:_SHOWN])
        more = f" and {len(off) - _SHOWN} more" if len(off) > _SHOWN else ""
        raise ParameterError(
            f"The masses of the sets that hold a category must sum to 1, and do not for: {told}{more}. Write thirds as "
            '"1/3"; in Python `complete` finds the nearest masses that do.',
            sums=off,
        )


def _settled(masses: Mapping[Members, Fraction], p: int) -> dict[Members, Fraction]:
    """Masses from floats as fractions that are balanced exactly, and within the tolerance of what was given."""
    sets, given = [*masses], [*masses.values()]
    simple = [mass.limit_denominator(10**6) for mass in given]
    rounded = [Fraction(round(mass * 2**53), 2**53) for mass in given]
    if min(simple) > 0 and set(coverage(sets, simple, p)) == {Fraction(1)}:
        found: Sequence[Fraction] | None = simple
    else:
        found = corrected(sets, rounded, p) or nearest(sets, rounded, p)
    if found is None:
        raise ParameterError('The masses could not be settled as fractions; give them as fractions, such as "1/3".')
    return {members: mass for members, mass in zip(sets, found, strict=True) if mass}


def _unbalanced(domain: Categorical, against: Sequence[float]) -> str:
    """Why no masses are balanced, from the obstruction: the categories that would be covered too often, and by which."""
    short = [label for label, weight in zip(domain.categories, against, strict=True) if weight > 0]
    over = [label for label, weight in zip(domain.categories, against, strict=True) if weight < 0]
    return (
        f"No masses balance these sets: {_quoted(over)} would get more than 1 when {_quoted(short)} get 1. Add sets with "
        f"{_quoted(short, ' or ')} that leave out {_quoted(over)}."
    )


def _quoted(labels: Sequence[str], joint: str = " and ") -> str:
    quoted = [f'"{label}"' for label in labels[:_SHOWN]] + (["…"] if len(labels) > _SHOWN else [])
    return joint.join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _number(value: Fraction) -> str:
    return str(value) if value.denominator < 10**6 else f"{float(value):.12g}"


def _told(domain: Categorical, members: Members) -> str:
    return "{" + ", ".join(domain.categories[j] for j in members) + "}"


def _listing(labels: Iterable[object]) -> str:
    return "{" + ", ".join(map(str, labels)) + "}"


def _table(domain: Categorical, masses: Mapping[Members, Fraction]) -> Table:
    # Any one category's masses sum to 1, so the integers in the same proportions have that sum as denominator.
    weights = smallest_integers(masses)
    denominator = sum(weight for members, weight in weights.items() if 0 in members)
    rows = tuple(tuple(weight * (x in members) for x in range(len(domain))) for members, weight in weights.items())
    names = tuple(_told(domain, members) for members in masses)
    return Table(domain, names, None, rows, denominator, "explicit subsets")
