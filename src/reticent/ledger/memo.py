"""The memo of a respondent's device: the same report whenever the same question is asked, without storing coins."""

from __future__ import annotations

from reticent.channel import Channel, Product, Subset
from reticent.choose import derived
from reticent.errors import ParameterError
from reticent.repetitions import checked_keys


def memoised_draw(
    channel: Channel, answer: str, secret: bytes, *, variable: str | None = None, sent: int | None = None
) -> int:
    """The report of one device on one variable: the same every time, so that asking again tells nothing more.

    The question comes from HMAC-SHA-256 of a secret that never leaves the device, over the variable and the digest of
    the channel. What happens when the answer changes:

    - An independent subset design sends the drawn set or its complement. A flip tells that the answer changed.
    - Other subset designs that always hold the answer keep the set `sent` last while it holds the new answer, and else
      draw another. The former answer y is then in the set with probability q + (1−q)·q, not q = P(y in A | x).
    - With private coins (randomised response, dummies), each different answer has one report of its own.

    `variable` is the name of the question unless given. With the collector's name in it two collectors cannot link their
    reports, but together they hold two independent answers.

    Source: section 8 of our specification.
    Raises ParameterError for a secret of fewer than 32 bytes or a product (each of its columns is asked by itself),
    AnswerError for an answer outside the domain, ReportError when `sent` cannot come from the channel.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d", "e"]))
    >>> secret = bytes(range(32))  # on a device: secrets.token_bytes(32), kept there
    >>> [letters.describe(memoised_draw(letters, answer, secret)) for answer in "aac"]
    ['{a, b}', '{a, b}', '{c, d, e}']
    """
    if isinstance(channel, Product):
        raise ParameterError("A product asks several questions; draw the report of each of its channels by itself.")
    (code,) = channel.domain.encode([answer], "refuse").tolist()
    if sent is not None:
        checked_keys(channel, [sent])
        if _depends_on_the_answer(channel) and sent >> code & 1:
            return sent
    labels = (channel.domain.name if variable is None else variable, channel.digest)
    public = channel.draw_public(derived(secret, *labels, "question"))
    return channel.key(public, channel.draw_cell(code, public, derived(secret, *labels, "answer", code)))


def _depends_on_the_answer(channel: Channel) -> bool:
    return isinstance(channel, Subset) and channel.kept == 1 and not channel.independent
