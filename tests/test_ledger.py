"""Answering once: derived coins, the memo, the respondent's ledger and the collector's register."""

from __future__ import annotations

import hmac
import json
import math
from collections import Counter
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import reticent as rt
from reticent.choose import derived
from reticent.errors import AnswerError, FileFormatError, ParameterError, ReportError
from reticent.ledger import Ledger, Recoding, Register, memoised_draw
from reticent.repetitions import candidates
from tests.mechanism_cases import CASES, question

FALSE_ALARM = 1e-7
"""Chance that one random check below fails by bad luck (6 here: 6e-7 of the suite's budget of 2e-5)."""
FIVE = rt.uniform_subset(question(5))
CONDITIONAL = rt.fixed_size(question(5), 3)
COUNTRIES = {"France": "Europe", "Spain": "Europe", "Kenya": "Africa", "Ghana": "Africa", "Egypt": "Africa"}
COUNTRY = rt.uniform_subset(rt.Categorical("country", list(COUNTRIES)))
REGION = rt.randomized_response(rt.Categorical("region", ["Europe", "Africa"]), 1.0)
OPEN_REGION = rt.full_response(rt.Categorical("region", ["Europe", "Africa"]))
SMOKES, DRINKS = (rt.Categorical(name, ["yes", "no"]) for name in ("smokes", "drinks"))
BOTH = rt.Subset(rt.ProductDomain([SMOKES, DRINKS]), title="pair")
RECODED = {"region": Recoding("country", COUNTRIES)}
SINGLE = [name for name, channel in CASES.items() if not isinstance(channel, rt.Product)]


def secret(i: int) -> bytes:
    return i.to_bytes(32, "big")


# Coins from a secret


def test_derived_blocks_are_hmac_over_labels_and_counter() -> None:
    key = bytes(range(32))
    prefix = b"t\x00\x00\x00\x04race" + b"i\x00\x00\x00\x0212"
    blocks = b"".join(hmac.digest(key, prefix + i.to_bytes(8, "big"), "sha256") for i in range(2))
    source = derived(key, "race", 12)
    assert bytes(source.below(256) for _ in range(64)) == blocks


def test_derived_streams_differ_by_secret_and_labels() -> None:
    def start(*labels: str | int, key: bytes = secret(1)) -> int:
        return derived(key, *labels).below(2**128)

    starts = [start("ab", "c"), start("a", "bc"), start("abc"), start("1"), start(1), start("ab", "c", key=secret(2))]
    assert len({*starts}) == len(starts) and start("ab", "c") == starts[0]


def test_derived_refuses_weak_secrets_and_other_labels() -> None:
    for wrong in (b"short", "x" * 32, bytearray(32), None):
        with pytest.raises(ParameterError, match="32 random bytes"):
            derived(cast("Any", wrong), "race")
    for label in (1.5, True, None):
        with pytest.raises(ParameterError, match="label"):
            derived(secret(1), cast("Any", label))


# The memo


@pytest.mark.parametrize("name", SINGLE)
def test_the_same_question_gets_the_same_report(name: str) -> None:
    channel = CASES[name]
    for i, answer in enumerate(channel.domain.categories):
        (report,) = {memoised_draw(channel, answer, secret(i)) for _ in range(3)}
        assert channel.exact_row(report)[i] > 0


def test_the_memo_for_another_language() -> None:
    assert [memoised_draw(FIVE, answer, bytes(range(32))) for answer in "abcde"] == [19, 19, 12, 12, 19]
    coin = rt.randomized_response(question(4), 1.0)
    assert [memoised_draw(coin, answer, bytes(range(32)), variable="x") for answer in "abcd"] == [2, 3, 2, 3]


def test_asking_again_tells_nothing_more() -> None:
    """Candidates left after 6 questions: as after one with the memo; 1 + (p−1)·q^6 without."""
    n, asks = 400, 6
    kept = [len(candidates(FIVE, [memoised_draw(FIVE, "b", secret(i)) for _ in range(asks)])) for i in range(n)]
    once = [len(candidates(FIVE, [memoised_draw(FIVE, "b", secret(i))])) for i in range(n)]
    assert kept == once and min(kept) >= 2
    fresh = FIVE.draw_many(["b"] * n * asks, seed=3).keys.reshape(n, asks)
    left = np.array([len(candidates(FIVE, own.copy())) for own in fresh])
    assert left.mean() == pytest.approx(1 + 4 * 0.4**asks, abs=0.05) and left.max() < np.mean(once) + 1


def test_a_memoised_report_has_the_law_of_the_channel() -> None:
    for channel in (FIVE, CONDITIONAL, rt.randomized_response(question(5), 1.0)):
        drawn = Counter(memoised_draw(channel, "c", secret(i)) for i in range(6000))
        law = {key: float(channel.exact_row(int(key))[2]) for key in channel.keys()}
        possible = [key for key, chance in law.items() if chance]
        assert {*drawn} <= {*possible}
        assert chisquare([drawn[key] for key in possible], [6000 * law[key] for key in possible]).pvalue > FALSE_ALARM


def test_variables_designs_and_secrets_have_reports_of_their_own() -> None:
    agree = {"variable": 0, "design": 0, "secret": 0}
    other = rt.Subset(FIVE.domain, title="another design")
    for i in range(300):
        report = memoised_draw(FIVE, "a", secret(i))
        agree["variable"] += report == memoised_draw(FIVE, "a", secret(i), variable="spring/letter")
        agree["design"] += report == memoised_draw(other, "a", secret(i))
        agree["secret"] += report == memoised_draw(FIVE, "a", secret(i + 300))
    # Each set that holds the answer has chance 1/10.
    assert all(times <= binom.isf(FALSE_ALARM, 300, 0.1) for times in agree.values())


def test_a_changed_answer_flips_an_independent_design() -> None:
    flipped = 0
    for i in range(200):
        before, after = (memoised_draw(FIVE, answer, secret(i)) for answer in "ab")
        assert after in (before, 0b11111 ^ before)
        assert (after == before) == (before >> 1 & 1 == 1)
        assert memoised_draw(FIVE, "a", secret(i), sent=after) == before
        flipped += after != before
    assert binom.ppf(FALSE_ALARM, 200, 0.6) <= flipped <= binom.isf(FALSE_ALARM, 200, 0.6)


def test_other_subset_designs_keep_the_set_while_it_holds_the_answer() -> None:
    n, still = 2000, 0
    for i in range(n):
        before = memoised_draw(CONDITIONAL, "a", secret(i))
        after = memoised_draw(CONDITIONAL, "b", secret(i), sent=before)
        assert after >> 1 & 1
        assert (after == before) or not before >> 1 & 1
        still += after & 1
    expected = 0.5 + 0.5 * 0.5  # two of the four others are in a set
    assert binom.ppf(FALSE_ALARM, n, expected) <= still <= binom.isf(FALSE_ALARM, n, expected)


def test_private_coins_are_fresh_for_another_answer() -> None:
    """With the same coins two different reports would both be true, and say so."""
    coin, n = rt.randomized_response(question(4), 1.0), 3000
    pairs = Counter(tuple(memoised_draw(coin, answer, secret(i)) for answer in "ab") for i in range(n))
    rows = np.array([[float(chance) for chance in coin.exact_row(key)] for key in range(4)])
    expected = n * np.outer(rows[:, 0], rows[:, 1])
    drawn = np.array([[pairs[(i, j)] for j in range(4)] for i in range(4)])
    assert chisquare(drawn.ravel(), expected.ravel()).pvalue > FALSE_ALARM


def test_the_memo_refuses() -> None:
    with pytest.raises(ParameterError, match="32 random bytes"):
        memoised_draw(FIVE, "a", b"secret")
    with pytest.raises(ParameterError, match="by itself"):
        memoised_draw(CASES["product"], "a × 0", secret(1))
    with pytest.raises(AnswerError) as fault:
        memoised_draw(FIVE, "a secret answer", secret(1))
    assert "a secret answer" not in str(fault.value)
    with pytest.raises(ReportError, match="cannot come"):
        memoised_draw(CONDITIONAL, "a", secret(1), sent=0b11)


# The ledger


def test_a_second_answer_is_refused_and_shown() -> None:
    ledger = Ledger().add(FIVE, 0b00111)
    assert (ledger.answers("letter"), ledger.candidates("letter")) == (1, ("a", "b", "c"))
    with pytest.raises(ReportError, match=r"leave 2 of 5 categories \(a, c\)\. Send the first report again") as fault:
        ledger.add(FIVE, 0b00101)
    assert fault.value.details["variables"] == ["letter"]
    second = ledger.add(FIVE, 0b00101, override=True)
    assert (second.answers("letter"), second.candidates("letter")) == (2, ("a", "c"))
    assert ledger.answers("letter") == 1, "a ledger is a value"


def test_the_answer_itself_is_never_in_the_message() -> None:
    animals = rt.uniform_subset(rt.Categorical("animal", ["wolf", "bear", "lynx", "hare"]))
    with pytest.raises(ReportError, match="a single one of 4 categories: the value itself") as fault:
        Ledger().add(animals, 0b0011).add(animals, 0b0110)
    shown = f"{fault.value} {fault.value.details}"
    assert not any(animal in shown for animal in animals.domain.categories)


def test_the_same_report_again_is_no_second_answer() -> None:
    ledger = Ledger().add(FIVE, 0b00111)
    assert ledger.add(FIVE, 0b00111) is ledger
    assert ledger.sent(FIVE) == 0b00111 and ledger.sent(CONDITIONAL) is None
    last = ledger.add(FIVE, 0b00011, override=True)
    assert last.sent(FIVE) == 0b00011


def test_a_new_design_for_the_same_variable_counts() -> None:
    with pytest.raises(ReportError, match="answered before"):
        Ledger().add(FIVE, 0b00111).add(CONDITIONAL, 0b00111)


def test_a_value_that_changed_shows() -> None:
    ledger = Ledger().add(FIVE, 0b00111)
    with pytest.raises(ReportError, match="no category: it shows that the value changed"):
        ledger.add(FIVE, 0b11000)
    assert ledger.add(FIVE, 0b11000, override=True).candidates("letter") == ()


def test_epsilon_adds() -> None:
    coin = rt.randomized_response(question(3), 1.0)
    ledger = Ledger().add(coin, 0)
    assert ledger.epsilon("letter") == coin.epsilon and ledger.candidates("letter") == ("a", "b", "c")
    with pytest.raises(ReportError, match="all 3 categories, and epsilon would be 2 in all"):
        ledger.add(coin, 1)
    assert ledger.add(coin, 1, override=True).epsilon("letter") >= 2 * coin.epsilon
    assert math.isinf(Ledger().add(FIVE, 0b11).epsilon("letter")) and Ledger().epsilon("letter") == 0


def test_recodings_are_answers_to_the_same_variable() -> None:
    ledger = Ledger(recodings=RECODED).add(COUNTRY, 0b00110)
    assert ledger.candidates("country") == ("Spain", "Kenya") and ledger.answers("region") == 0
    with pytest.raises(ReportError, match='"country" was answered before.*a single one of 5'):
        ledger.add(OPEN_REGION, 0)
    both = ledger.add(OPEN_REGION, 1, override=True)
    assert (both.answers("country"), both.candidates("country")) == (2, ("Kenya",))
    first = Ledger(recodings=RECODED).add(OPEN_REGION, 1)
    assert first.candidates("country") == ("Kenya", "Ghana", "Egypt")
    apart = Ledger().add(COUNTRY, 0b00110).add(OPEN_REGION, 1)
    assert (apart.answers("country"), apart.answers("region")) == (1, 1)
    later = Ledger(apart.entries, RECODED)
    assert (later.answers("country"), later.candidates("country")) == (2, ("Kenya",))


def test_lists_of_categories_must_agree_or_be_recoded() -> None:
    shorter = rt.uniform_subset(question(4))
    with pytest.raises(ParameterError, match="two lists of categories"):
        Ledger().add(FIVE, 0b11).add(shorter, 0b11, override=True)
    recoded = {"region": Recoding("country", {"France": "Europe", "Peru": "America"})}
    with pytest.raises(ParameterError, match="leads to America"):
        Ledger(recodings=recoded).add(REGION, 0)
    with pytest.raises(ParameterError, match="mapping"):
        Recoding("country", cast("Any", ["France"]))


def test_a_recoding_reaches_every_category_of_its_question() -> None:
    # Who lives elsewhere is honest, but no country leads there: every answer "elsewhere" would look like a lie.
    region = rt.full_response(rt.Categorical("region", ["Europe", "Africa", "elsewhere"]))
    with pytest.raises(ParameterError, match='"country" leads to elsewhere of "region"'):
        Ledger(recodings=RECODED).add(region, 0)
    for channels in ([region], [region, COUNTRY]):
        with pytest.raises(ParameterError, match="leads to elsewhere"):
            Register(channels, RECODED)
    both = rt.full_response(rt.ProductDomain([region.domain, SMOKES]))
    with pytest.raises(ParameterError, match="leads to elsewhere"):
        Register([both], RECODED)
    wrong: Any
    for wrong in ({"a": 1}, {1: "a"}, {"a": ""}):
        with pytest.raises(ParameterError, match="texts"):
            Recoding("country", wrong)


def test_a_pair_within_a_joint_report_counts_for_each_of_its_questions() -> None:
    letters = rt.randomized_response(question(3), 1.0)
    joint = rt.Product([BOTH, letters])
    smokes = rt.full_response(SMOKES)
    ledger = Ledger().add(joint, 0b0011)  # smokes
    assert ledger.candidates("smokes") == ("yes",) and ledger.answers("drinks") == ledger.answers("letter") == 1
    for again in (smokes, BOTH, letters):
        with pytest.raises(ReportError, match="was answered before"):
            ledger.add(again, 0 if again is not BOTH else 0b0011)
    register = Register([joint, smokes])
    assert register.accept("one", joint.digest, 0b0011) == "accepted"
    assert register.accept("one", smokes.digest, 1) == "inconsistent"
    assert register.accept("two", smokes.digest, 1) == "accepted"
    assert register.accept("two", joint.digest, 0b0011) == "inconsistent"


def test_a_joint_report_counts_for_each_of_its_questions() -> None:
    ledger = Ledger().add(BOTH, 0b0110)  # one of the two, not both
    assert ledger.candidates("smokes") == ledger.candidates("drinks") == ("yes", "no")
    drinks = rt.full_response(DRINKS)
    with pytest.raises(ReportError, match='"drinks" was answered before'):
        ledger.add(drinks, 0)
    known = ledger.add(drinks, 0, override=True)  # drinks, hence does not smoke
    assert known.candidates("smokes") == ("no",) and known.answers("smokes") == 1
    # Through the margins alone, "smokes" would keep both categories.
    again = ledger.add(BOTH, 0b0011, override=True)
    assert (again.candidates("smokes"), again.candidates("drinks")) == (("yes",), ("no",))


def test_two_questions_of_one_report_on_one_variable() -> None:
    ages = {str(age): "young" if age < 30 else "old" for age in (20, 25, 35, 45)}
    tens = {"20": "20s", "25": "20s", "35": "30s", "45": "40s"}
    asked = rt.ProductDomain(
        [rt.Categorical("group", ["young", "old"]), rt.Categorical("decade", ["20s", "30s", "40s"])]
    )
    ledger = Ledger(recodings={"group": Recoding("age", ages), "decade": Recoding("age", tens)})
    told = ledger.add(rt.full_response(asked), asked.categories.index("old × 30s"))
    assert (told.answers("age"), told.candidates("age")) == (1, ("35",))
    assert ledger.add(rt.full_response(asked), asked.categories.index("young × 40s")).candidates("age") == ()


def test_a_ledger_as_json() -> None:
    wide = rt.uniform_subset(rt.Categorical("number", [str(i) for i in range(80)]))
    ledger = Ledger(recodings=RECODED).add(COUNTRY, 0b00110).add(REGION, 0, override=True)
    ledger = ledger.add(BOTH, 0b0110).add(wide, memoised_draw(wide, "7", secret(1)))
    text = json.dumps(ledger.to_json(), allow_nan=False)
    again = Ledger.from_json(json.loads(text))
    assert again == ledger and again.epsilon("country") == math.inf and again.sent(wide) == ledger.sent(wide)
    assert again.candidates("number") == ledger.candidates("number")
    document = json.loads(text)
    for broken in ([], {"kind": "tally"}, {"kind": "ledger"}, document | {"entries": [{"design": "x"}]}):
        with pytest.raises(FileFormatError):
            Ledger.from_json(broken)
    unreached = {"France": "Europe"}
    for categories in ([], {"France": 1}, unreached):
        with pytest.raises(FileFormatError):
            Ledger.from_json(document | {"recodings": {"region": {"variable": "country", "categories": categories}}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", value) for value in (math.nan, math.inf, -5, True, "2", None, 10**400)),
        *(("report", value) for value in (-1, 1.0, True, "3", None, "x")),
        *(("left", value) for value in ([], [[]], [["x", "yes"]], [["yes"]], ["yes"], None)),
        *(("questions", value) for value in ([], ["smokes"], "ab", [1, 2])),
        *(("categories", value) for value in ([["yes", "no"]], ["yes", "no"], [["yes"], [1]])),
        ("design", 5),
    ],
)
def test_a_garbled_ledger_is_refused(name: str, value: Any) -> None:
    document = Ledger().add(BOTH, 0b0110).to_json()
    assert Ledger.from_json(json.loads(json.dumps(document))).answers("smokes") == 1
    entry = json.loads(json.dumps(document["entries"][0])) | {name: value}
    with pytest.raises(FileFormatError):
        Ledger.from_json(document | {"entries": [entry]})


# The register


def test_one_report_for_each_respondent_and_design() -> None:
    register = Register([FIVE, REGION])
    for token, report, outcome in (
        ("one", 0b00111, "accepted"),
        ("one", 0b00111, "repeated"),
        ("one", 0b00110, "different"),
        ("one", 0b11000, "different"),
        ("two", 0b00110, "accepted"),
        ("two", 0b00001, "impossible"),
        ("six", 0, "impossible"),
        ("six", 2**70, "impossible"),
        ("six", -1, "impossible"),
    ):
        assert register.accept(token, FIVE.digest, report) == outcome
    assert register.accept("one", REGION.digest, 1) == "accepted"
    assert register.accept("one", CONDITIONAL.digest, 0b00111) == "unknown design"
    assert register.counts == {
        "accepted": 3, "repeated": 1, "different": 2, "impossible": 4, "unknown design": 1,
    }  # fmt: skip
    assert register.rejected == {"different": 2, "impossible": 4, "unknown design": 1}
    letters, regions = register.reports(FIVE, REGION)
    assert letters.keys.tolist() == [0b00111, 0b00110] and len(regions) == 0
    assert len(register.reports(REGION)[0]) == 1
    with pytest.raises(ParameterError, match="other channels"):
        register.reports(CONDITIONAL)
    for token in ("", None, 7):
        with pytest.raises(ParameterError, match="token"):
            register.accept(cast("Any", token), FIVE.digest, 0b11)


def test_whatever_is_sent_has_an_outcome() -> None:
    wide = rt.uniform_subset(rt.Categorical("wide", [str(i) for i in range(70)]))
    joint = rt.Product([BOTH, wide])
    register = Register([FIVE, REGION, wide, joint])
    assert register.accept("one", REGION.digest, 1) == "accepted"
    sent: list[Any] = [
        None,
        "abc",
        "3",
        b"3",
        [3],
        {},
        math.nan,
        math.inf,
        3.0,
        3.7,
        True,
        10**5000,
        -(2**70),
        np.array([3]),
    ]
    for report in sent:
        for channel in (FIVE, REGION, wide, joint):
            for token in ("one", "two"):
                assert register.accept(token, channel.digest, report) == "impossible"
    for design in ([FIVE.digest], None, 3, {}, math.nan, "", "x"):
        assert register.accept("two", design, 0b11) == "unknown design"
    assert [register.accept("\ud800", FIVE.digest, np.int64(0b11)) for _ in range(2)] == ["accepted", "repeated"]
    assert register.accept("?", FIVE.digest, 0b110) == "accepted", "another token"
    assert sum(register.counts.values()) == 1 + len(sent) * 8 + 7 + 3


def test_reports_that_nothing_fits_are_rejected() -> None:
    register = Register([FIVE, CONDITIONAL, REGION, COUNTRY, OPEN_REGION, BOTH, rt.full_response(DRINKS)], RECODED)
    assert register.accept("one", FIVE.digest, 0b00011) == "accepted"
    assert register.accept("one", CONDITIONAL.digest, 0b11100) == "inconsistent"
    assert register.accept("one", CONDITIONAL.digest, 0b01110) == "accepted"
    assert register.accept("one", COUNTRY.digest, 0b00011) == "accepted"
    assert register.accept("one", OPEN_REGION.digest, 1) == "inconsistent"
    assert register.accept("one", REGION.digest, 1) == "accepted", "randomised response rules nothing out"
    assert register.accept("two", BOTH.digest, 0b0011) == "accepted"  # smokes
    assert register.accept("two", rt.full_response(DRINKS).digest, 0) == "accepted"
    assert register.rejected == {"inconsistent": 2}


def test_inconsistency_is_found_through_a_joint_report() -> None:
    smokes, drinks = rt.full_response(SMOKES), rt.full_response(DRINKS)
    register = Register([BOTH, smokes, drinks])
    assert register.accept("one", drinks.digest, 0) == "accepted"
    assert register.accept("one", smokes.digest, 0) == "accepted"
    assert register.accept("one", BOTH.digest, 0b0110) == "inconsistent"
    assert register.accept("two", drinks.digest, 0) == register.accept("two", BOTH.digest, 0b0110) == "accepted"
    assert register.accept("two", smokes.digest, 0) == "inconsistent", "only what was said about drinking tells"


def test_each_respondent_counts_once_in_an_estimate() -> None:
    rng = np.random.default_rng(4)
    n, truth = 3000, rng.choice(5, size=3000, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    register = Register([FIVE, CONDITIONAL])
    for i, x in enumerate(truth):
        answer = FIVE.domain.categories[x]
        for _ in range(2 if i % 3 else 1):
            register.accept(f"token {i}", FIVE.digest, memoised_draw(FIVE, answer, secret(i)))
        if i % 2:
            register.accept(f"token {i}", CONDITIONAL.digest, memoised_draw(CONDITIONAL, answer, secret(i)))
    columns = register.reports(CONDITIONAL, FIVE)
    assert [len(column) for column in columns] == [n // 2, n // 2]
    assert register.counts == {"accepted": n + n // 2, "repeated": n - n // 3}
    assert register.rejected == {}
    shares = rt.maximum_likelihood(*(rt.tally(column) for column in columns))
    interval = shares.confidence_interval(1 - FALSE_ALARM / 5, method="wald")
    respondents = np.bincount(truth, minlength=5) / n
    assert ((interval.low <= respondents) & (respondents <= interval.high)).all()


def test_a_register_needs_one_list_of_categories_for_a_variable() -> None:
    with pytest.raises(ParameterError, match="two lists of categories"):
        Register([FIVE, rt.uniform_subset(question(4))])
