"""How often each test notices that two questions are not independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import reticent as rt
from reproductions.subset.adult import Adult, Floats
from reproductions.subset.independence import bonferroni, likelihood_ratio, moments_ratio, pair_matrix, pearson
from reticent.channel import Product

SEED = 2107_02013
LEVEL = 0.05
RHO = 0.8  # our text of the paper does not give it; here tests need about four times the sample
TESTS = {
    "pearson": "Pearson",
    "likelihood": "LRT:MLE",
    "moments": "LRT:MoM",
    "bonferroni": "Bonferroni",
}


@dataclass(frozen=True)
class Power:
    """Share of `replicates` surveys of n people in which each test rejects independence at 5 %.

    `setting` is "2×2" (sex × income of the Adult table, two dummies each) or "4×4" (uniform subset designs). `openly` is
    Pearson's test of the answers, `dummies` of the values Y that the dummies leave, None where there are none.
    """

    setting: str
    n: int
    replicates: int
    power: dict[str, float]
    openly: float
    dummies: float | None

    def error(self, value: float) -> float:
        """The simulation error of one of the shares."""
        return math.sqrt(value * (1 - value) / self.replicates)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Setting:
    """Two questions, the joint shares of their answers (p, q), and P(Y | answer) of one question's dummies."""

    name: str
    channel: Product
    shares: Floats
    mixing: Floats | None
    sizes: tuple[int, ...]


def settings(found: Adult) -> tuple[Setting, ...]:
    """Sex × income in the Adult table; and 1/16 ± 0.03 in two 2×2 blocks of a 4×4 table."""
    two = Product([rt.binary_dummy(rt.Categorical(name, ["a", "b"]), RHO, "uniform") for name in ("first", "second")])
    mixing = np.vstack([RHO * np.eye(2), np.full((2, 2), (1 - RHO) / 2)])
    four = Product([rt.uniform_subset(rt.Categorical(name, list("abcd"))) for name in ("first", "second")])
    block = 0.03 * np.array([[1, -1], [-1, 1]])
    shares = np.full((4, 4), 1 / 16)
    shares[:2, :2] += block
    shares[2:, 2:] += block
    return (
        Setting("2×2", two, found.sex_by_income / found.sex_by_income.sum(), mixing, (500, 2_000)),
        Setting("4×4", four, shares, None, (500, 1_000, 2_000)),
    )


def powers(found: Adult, replicates: int, say: Callable[[str], None] = lambda _: None) -> tuple[Power, ...]:
    """Every test on the same reports, for each setting and n."""
    rows = []
    for setting in settings(found):
        for n in setting.sizes:
            say(f"tests of independence, {setting.name}, n = {n:,}: {replicates} replicates")
            rows.append(_power(setting, n, replicates))
    return tuple(rows)


def _power(setting: Setting, n: int, replicates: int) -> Power:
    channel, law = setting.channel, setting.shares
    sizes = [part.n_reports for part in channel.channels]
    random = np.random.default_rng([SEED, n, *sizes])
    chance = pair_matrix(channel) @ law.ravel()
    tables = random.multinomial(n, chance / chance.sum(), size=replicates).reshape(-1, *sizes)
    found = {
        "pearson": pearson(tables), "likelihood": likelihood_ratio(channel, tables),
        "moments": moments_ratio(channel, tables), "bonferroni": bonferroni(channel, tables),
    }  # fmt: skip
    dummies = None
    if setting.mixing is not None:
        dummies = _rejected(_drawn(random, n, setting.mixing @ law @ setting.mixing.T, replicates))
    power = {name: float((p < LEVEL).mean()) for name, p in found.items()}
    return Power(setting.name, n, replicates, power, _rejected(_drawn(random, n, law, replicates)), dummies)


def _drawn(random: np.random.Generator, n: int, law: Floats, replicates: int) -> Any:
    return random.multinomial(n, law.ravel() / law.sum(), size=replicates).reshape(-1, *law.shape)


def _rejected(tables: Any) -> float:
    return float((pearson(tables) < LEVEL).mean())


def best(rows: Sequence[Power], tests: Sequence[str], than: str, setting: str) -> bool:
    """Whether some tests all reject more often than another in a setting: on average over n, and at no n clearly less."""
    chosen = [row for row in rows if row.setting == setting]
    return all(
        sum(row.power[name] - row.power[than] for row in chosen) > 0
        and all(row.power[name] >= row.power[than] - 2 * row.error(row.power[than]) for row in chosen)
        for name in tests
    )
