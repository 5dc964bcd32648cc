"""Reports: privatised answers as a column of keys, with the channel that sent them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ReportError
from reticent.keys import Keys, integers_from_keys

if TYPE_CHECKING:
    from reticent.channel import Channel


@dataclass(frozen=True, eq=False)
class Reports:
    """One key per respondent: shape `(n,)`, or rows of bytes `(n, width)` above 64 bits.

    `valid` is None, or False where the answer was missing. `simulated` says that a seed was used.
    Raises ReportError when the channel cannot have sent a key.
    """

    channel: Channel
    keys: Keys
    valid: NDArray[np.bool_] | None = None
    simulated: bool = False

    def __post_init__(self) -> None:
        if self.valid is not None and self.valid.shape != (len(self.keys),):
            raise ReportError(f"{len(self.keys)} reports need as many flags; got {self.valid.shape}.")
        self.channel.check_keys(self.present)
        self.keys.setflags(write=False)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def present(self) -> Keys:
        """The keys of the answers that are not missing."""
        return self.keys if self.valid is None else self.keys[self.valid]

    @property
    def missing(self) -> int:
        """How many answers were missing."""
        return 0 if self.valid is None else int(len(self.valid) - self.valid.sum())

    def to_list(self) -> list[str | None]:
        """Every report in words, None where the answer was missing."""
        words = [self.channel.describe(key) for key in integers_from_keys(self.present)]
        if self.valid is None:
            return list(words)
        present = iter(words)
        return [next(present) if valid else None for valid in self.valid]

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The column through the Arrow C data interface: unsigned integers or fixed-size binary, null where missing."""
        import pyarrow as pa  # the interface is pyarrow's to build; nothing else here needs it

        nulls = None if self.valid is None else ~self.valid
        if self.keys.ndim == 1:
            column = pa.array(self.keys, mask=nulls)
        else:
            column = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(self.keys.shape[1]),
                len(self.keys),
                [None if self.valid is None else pa.array(self.valid).buffers()[1], pa.py_buffer(self.keys.tobytes())],
            )
        capsules: tuple[object, object] = column.__arrow_c_array__(requested_schema)
        return capsules

    def __repr__(self) -> str:
        note = f", {self.missing} missing" if self.missing else ""
        return f"<{len(self)} reports{note}{', simulated' if self.simulated else ''} from {self.channel!r}>"
