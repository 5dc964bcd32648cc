"""Questions that follow up on answers, and people who leave some of them unanswered (Ding and Ding, arXiv 2106.09565)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd
from typing import Any

from reticent.anchors import Anchors
from reticent.channel import Channel, Progressive, Refusable
from reticent.domain import Numbers
from reticent.errors import ChannelError, ParameterError
from reticent.mechanisms.masses import exact_share, planning_masses
from reticent.mechanisms.ranges import settled_weights, told
from reticent.mechanisms.selections import law_of_floors


def progressive(
    domain: Numbers,
    n_questions: int,
    floor: Any = 0,
    pilot: Any = None,
    anchors: Anchors | Sequence[float] | None = None,
    *,
    floors: Any = None,
) -> Progressive:
    """Ask up to n_questions thresholds, each within the set that the answers so far have left; report the last set.

    A threshold is drawn by the weights of `anchors` (as in `case_one`) among the edges within the set that leave at least
    the share `floor` of the planning law on both sides; where there is none, the questions end. It depends on the set only,
    so that P(set | x) is the same for all x in the set, and no likelihood needs the questions. `channel.offer` gives the
    next question with the coverage of every choice, for a respondent to see before answering.

    `floors` is a law of floors of people's own, as in `selective`: a mapping {floor: weight}, or a law on [0, 1] with a
    `cdf`. Each device draws the floor of its person without looking at the number, and gives no further answer once the
    part that holds the number has a share below it. Then "stopped" has a likelihood row of its own, and must be kept.

    `pilot` is the planning law, as in `ring`. With a step and a floor, no set is one possible value.

    Coverage is not differential privacy: a set rules the other numbers out.

    Source: section 1.5 of our specification of interval privacy, after Ding and Ding (progressive questions, random τ).
    Raises ParameterError for a floor outside [0, 1/2], floors that are all 0 or all 1, above 200 cells, more than 16
    questions, or a floor at which nothing can be asked. Warns when the sets do not tell all cells apart: the first and the
    last cell must each hold the floor.

    >>> age = Numbers("age", 0, 100, edges=[25, 50, 75])
    >>> channel = progressive(age, 2, 0.25)
    >>> channel.n_reports, [channel.describe(int(key)) for key in channel.keys()[:3]]
    (7, ['up to 25', 'up to 50', '(25, 50]'])
    >>> stopping = progressive(age, 2, 0.25, floors={0.25: 1, 0.4: 1})
    >>> stopping.describe(int(stopping.keys()[-1]))
    'above 50, then stopped'
    """
    share = exact_share(floor, "floor")
    if share > 0.5:
        raise ParameterError(
            f"floor is {floor!r}; one of two parts always holds at most half, so allowed is 0 to 0.5.", floor=floor
        )
    weights, _ = settled_weights(domain, anchors)
    divisor = gcd(*weights)
    try:
        channel = Progressive(
            domain,
            n_questions,
            tuple(weight // divisor for weight in weights),
            planning_masses(domain, pilot),
            share,
            None if floors is None else law_of_floors(floors),
            _title(n_questions, share, floors is not None),
        )
    except ChannelError as fault:
        raise ParameterError(str(fault), **fault.details) from fault
    if channel.unresolved:
        warnings.warn(
            f"The sets these questions lead to do not tell these cells apart: {told(channel.unresolved)}. A set on a line "
            "that keeps the floor cannot end near an end of the domain; join cells until the first and the last hold the "
            "floor, lower it, or use a ring.",
            stacklevel=2,
        )
    return channel


def _title(n_questions: int, floor: Fraction, own_floors: bool) -> str:
    title = f"{n_questions} progressive question{'' if n_questions == 1 else 's'}, floor {float(floor):.4g}"
    return f"{title}, people stop at floors of their own" if own_floors else title


def with_refusal(channel: Channel, *, drop: Any = 0) -> Refusable:
    """The channel among people of whom some do not answer, or not all of the questions.

    Nothing is known of P(refuse | x), so refusal is no channel of the value alone. The state is (value, willingness), and
    each willingness has a law of values of its own; see `nonresponse` for what can be said then. Willingness is how many
    questions somebody answers: 0 or 1, or for progressive questions 0 to n_questions. Somebody willing to answer j reports
    through the version with j questions, tagged with j; willingness 0 gives "no answer".

    `drop` is the chance with which a device drops an answer, one coin per question until the first that is dropped, thrown
    without looking at the value. A dropped answer and a skipped one are the same message, so that nobody can tell that a
    person refused.

    Assumes that people settle their willingness before the question is drawn (they are asked for it first). Where people
    decide after they saw their range, refusal depends on question and value in an unknown way, and no estimate holds. Use
    `selective` or the `floors` of `progressive` then, whose devices decide by a known law.

    Source: section 1.5 of our specification of interval privacy, rules (b) and (c).
    Raises ParameterError for a drop outside [0, 1), ChannelError for a channel that is silent by itself (selective) or has
    refusals already.

    >>> from reticent.mechanisms.ranges import case_one
    >>> channel = with_refusal(case_one(Numbers("age", 0, 100, edges=[50])))
    >>> [channel.describe(int(key)) for key in channel.keys()]
    ['no answer', 'up to 50', 'above 50']
    >>> channel.describe(channel.draw(("80", "0"))), channel.describe(channel.draw(("80", "1")))
    ('no answer', 'above 50')
    """
    levels: list[Channel] = [channel]
    if isinstance(channel, Progressive):
        levels = [
            replace(channel, n_questions=asked, title=_title(asked, channel.floor, channel.floors is not None))
            for asked in range(1, channel.n_questions + 1)
        ]
    share = exact_share(drop, "drop")
    if share == 1:
        raise ParameterError("drop is 1: nothing would ever be reported. Give a chance below 1.", drop=drop)
    lost, kept, most = share.numerator, share.denominator - share.numerator, len(levels)
    caps = [kept**asked * lost * share.denominator ** (most - asked - 1) for asked in range(most)]
    return Refusable(tuple(levels), (*caps, kept**most))
