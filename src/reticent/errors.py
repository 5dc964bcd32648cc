"""Every exception the package raises on purpose.

ReticentError
├── DomainError       a domain that cannot be used (fewer than two categories, repeated labels)
├── ParameterError    a privacy or tuning parameter out of range
├── ChannelError      a channel that is invalid, or asked for something it does not have
├── AnswerError       answers that do not belong to the domain (never printed)
├── ReportError       reports that the channel cannot have sent
├── TallyError        tallies that cannot be made or added
├── EstimateError     an estimate or an interval that the data cannot give
└── FileFormatError   a file that is not what it should be

A message says what was given, what is allowed and what to do. No message holds a respondent's answer.
"""

from __future__ import annotations


class ReticentError(Exception):
    """Base of all errors; the values behind the message are in `details`."""

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.details = details


class DomainError(ReticentError):
    """A domain that cannot be used."""


class ParameterError(ReticentError):
    """A privacy or tuning parameter out of range."""


class ChannelError(ReticentError):
    """A channel that is invalid, or asked for something it does not have."""


class AnswerError(ReticentError):
    """Answers that do not belong to the domain. The answers themselves are never shown."""


class ReportError(ReticentError):
    """Reports that the channel cannot have sent."""


class TallyError(ReticentError):
    """Tallies that cannot be made or added."""


class EstimateError(ReticentError):
    """An estimate or an interval that the data cannot give."""


class FileFormatError(ReticentError):
    """A file that is not what it should be."""
