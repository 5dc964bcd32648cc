"""The register of a collector: one accepted report for each respondent, variable and design."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from reticent.channel import Channel
from reticent.errors import ParameterError, ReportError
from reticent.keys import keys_from_integers
from reticent.ledger.entries import Recoding, candidates_left, categories_of, entry_of, variables
from reticent.repetitions import checked_keys, checked_report
from reticent.reports import Reports

Outcome = Literal["accepted", "repeated", "different", "inconsistent", "impossible", "unknown design"]
_TOKEN_BYTES = 16


class Register:
    """Which reports count: from each respondent at most one through each of the given channels.

    `accept` answers, and `counts` adds up, one of

    - "accepted";
    - "repeated": the same report again, ignored;
    - "different": another report through the same channel, rejected;
    - "inconsistent": nothing fits it together with what the respondent said through other channels, rejected;
    - "impossible": the channel cannot send it, rejected;
    - "unknown design": none of the channels has this digest, rejected.

    Designs and reports may come as they were sent, whatever they are: what is no whole number is impossible. Tokens are
    kept as 16 bytes of their BLAKE2b hash, to save memory, not to hide them. One process at a time.

    Source: section 8 of our specification.
    Raises ParameterError for a variable that is asked in two lists of categories without a recoding, and for a recoding
    that does not reach every category of its question.

    >>> from reticent.channel import Subset
    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> register = Register([letters])
    >>> [register.accept("maple river", letters.digest, report) for report in (0b0011, 0b0011, 0b0101)]
    ['accepted', 'repeated', 'different']
    >>> register.reports(letters)[0].to_list()
    ['{a, b}']
    """

    def __init__(self, channels: Iterable[Channel], recodings: Mapping[str, Recoding] | None = None) -> None:
        self.channels = {channel.digest: channel for channel in channels}
        self.recodings = dict(recodings or {})
        self.counts: Counter[Outcome] = Counter()
        self._accepted: dict[str, dict[bytes, int]] = {digest: {} for digest in self.channels}
        parts = [part for channel in self.channels.values() for part in channel.domain.parts]
        categories_of([(part.name, part.categories) for part in parts], self.recodings)
        self._related = {digest: self._related_to(digest) for digest in self.channels}

    def accept(self, token: str, design: object, report: object) -> Outcome:
        """What becomes of a report from the respondent with this token, through the channel with this digest.

        Raises ParameterError for a token that is not a text, or is empty: the collector gives tokens. Nothing else raises.
        """
        if not isinstance(token, str) or not token:
            raise ParameterError("A token is a text that is not empty; without one, repeated answers cannot be told.")
        person = hashlib.blake2b(token.encode(errors="surrogatepass"), digest_size=_TOKEN_BYTES).digest()
        outcome = self._register(person, design, report)
        self.counts[outcome] += 1
        return outcome

    @property
    def rejected(self) -> dict[Outcome, int]:
        """Rejected reports by reason; repeated ones are not among them."""
        return {outcome: n for outcome, n in self.counts.items() if outcome not in ("accepted", "repeated")}

    def reports(self, *channels: Channel) -> list[Reports]:
        """The accepted reports of each channel, every respondent once over all of them: what estimators may use.

        Who answered through several of the channels counts with the first of them. Raises ParameterError for a channel
        that the register does not have.
        """
        seen: set[bytes] = set()
        columns = []
        for channel in channels:
            if channel.digest not in self._accepted:
                raise ParameterError(f"The register does not have {channel!r}; it was made for other channels.")
            own = self._accepted[channel.digest]
            keys = [report for person, report in own.items() if person not in seen]
            seen |= own.keys()
            columns.append(Reports(channel, keys_from_integers(keys, channel.key_bits)))
        return columns

    def _register(self, person: bytes, design: object, report: object) -> Outcome:
        if not isinstance(design, str) or design not in self.channels:
            return "unknown design"
        try:
            key = checked_report(report)
            before = self._accepted[design].get(person)
            if before == key:
                return "repeated"
            checked_keys(self.channels[design], [key])
        except ReportError:
            return "impossible"
        if before is not None:
            return "different"
        if not self._fits(person, design, key):
            return "inconsistent"
        self._accepted[design][person] = key
        return "accepted"

    def _fits(self, person: bytes, design: str, report: int) -> bool:
        before = [(d, self._accepted[d][person]) for d in self._related[design] if person in self._accepted[d]]
        if not before:
            return True
        entries = [entry_of(self.channels[digest], own) for digest, own in [*before, (design, report)]]
        asked = variables(entries[-1].questions, self.recodings)
        return all(candidates_left(entries, variable, self.recodings) for variable in asked)

    def _related_to(self, design: str) -> set[str]:
        """The other designs that ask about the same variables, directly or through joint reports."""
        asked = {
            digest: {*variables((part.name for part in channel.domain.parts), self.recodings)}
            for digest, channel in self.channels.items()
        }
        related, reached = {design}, asked[design]
        while near := {digest for digest, own in asked.items() if own & reached} - related:
            related |= near
            reached = reached.union(*(asked[digest] for digest in near))
        return related - {design}
