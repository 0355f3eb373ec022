"""Budgets: sums are exact, conversions are bounds, and no list of questions gets past them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.budget import NOTHING, advanced, epsilon_of_rho, rho_of_budget
from sfumato.core.declared import Relation
from sfumato.core.journal import Journal
from sfumato.core.ledger import LEDGER, Book, Terms
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.results.queries import Budget, PrivacyLoss, composed

AMOUNTS = st.floats(1e-4, 2).map(lambda a: float(f"{a:.4g}"))
LOSSES = st.one_of(
    st.builds(PrivacyLoss.of, epsilon=AMOUNTS), st.builds(PrivacyLoss.of, rho=AMOUNTS)
)
BUDGETS = st.one_of(
    st.builds(Budget, AMOUNTS),
    st.builds(Budget, AMOUNTS, delta=st.sampled_from([1e-9, 1e-6, 1e-3])),
    st.builds(Budget, rho=AMOUNTS),
)


def bun_steinke(rho, delta):
    """Proposition 1.3 of Bun and Steinke 2016."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def failure_of_zcdp(epsilon, rho):
    """The smallest δ over a fine grid of orders, from the Rényi divergence (Canonne, Kamath,
    Steinke 2020, Prop. 12).
    """
    best = 1.0
    for step in range(1, 800):
        excess = math.exp(-8 + step * 0.025)
        alpha = 1 + excess
        log = excess * (alpha * rho - epsilon) - math.log(excess) + alpha * math.log(excess / alpha)
        best = min(best, math.exp(min(0.0, log)))
    return best


@given(BUDGETS, st.lists(LOSSES, max_size=30))
def test_a_book_never_spends_more_than_its_budget(budget, wanted):
    book = Book(Terms("people", budget, Relation()), Journal(None, LEDGER))
    for number, loss in enumerate(wanted):
        try:
            book.spend({str(number): ("count", loss)})
        except BudgetExceeded:
            continue
    total_rho = sum(
        (loss.rho if loss.rho else loss.epsilon**2 / 2 for loss in book.losses), Fraction(0)
    )
    pure = all(loss.epsilon is not None for loss in book.losses)
    if budget.rho is not None:
        assert total_rho <= Fraction(str(budget.rho))
    elif pure and sum((loss.epsilon for loss in book.losses), Fraction(0)) <= Fraction(
        str(budget.epsilon)
    ):
        pass
    else:
        assert budget.delta > 0
        assert failure_of_zcdp(budget.epsilon, float(total_rho)) <= budget.delta * 1.01
    assert budget.spent(book.spending) <= (budget.rho or budget.epsilon) * (1 + 1e-12)


@given(BUDGETS, st.lists(LOSSES, max_size=5))
def test_what_is_said_to_be_left_can_be_spent_and_not_much_more(budget, wanted):
    book = Book(Terms("people", budget, Relation()), Journal(None, LEDGER))
    for number, loss in enumerate(wanted):
        if budget.affords(NOTHING.plus([*book.losses, loss])):
            book.spend({str(number): ("count", loss)})
    left = budget.largest_epsilon(book.spending)
    if left > 0:
        assert budget.affords(NOTHING.plus([*book.losses, PrivacyLoss.of(epsilon=left)]))
    assert not budget.affords(
        NOTHING.plus([*book.losses, PrivacyLoss.of(epsilon=left + 2e-6 + left * 1e-3)])
    )


def test_tenths_add_up_to_one():
    tenth = PrivacyLoss.of(epsilon=0.1)
    assert Budget(1.0).affords(NOTHING.plus([tenth] * 10)) and not Budget(1.0).affords(
        NOTHING.plus([tenth] * 10 + [PrivacyLoss.of(epsilon=1e-12)])
    )
    third = PrivacyLoss.of(epsilon=0.3).divided(3)
    assert third.epsilon * 3 == Fraction(3, 10)
    assert PrivacyLoss.from_dict(third.to_dict()) == third


def test_many_small_answers_are_cheaper_with_a_delta():
    small = [PrivacyLoss.of(epsilon=0.01)] * 1000  # a sum of 10; ρ = 0.05
    assert not Budget(2.0).affords(NOTHING.plus(small))
    assert Budget(2.0, delta=1e-6).affords(NOTHING.plus(small))


def test_gaussian_answers_need_a_delta_or_zcdp():
    assert not Budget(100.0).affords(NOTHING.plus([PrivacyLoss.of(rho=1e-6)]))
    assert Budget(1.0, delta=1e-6).affords(NOTHING.plus([PrivacyLoss.of(rho=0.02)]))
    assert Budget(rho=0.02).affords(NOTHING.plus([PrivacyLoss.of(rho=0.02)])) and Budget(
        rho=0.02
    ).affords(NOTHING.plus([PrivacyLoss.of(epsilon=0.2)]))


@given(st.floats(1e-6, 50), st.sampled_from([1e-12, 1e-6, 0.01, 0.3]))
def test_the_conversion_is_a_bound_and_a_better_one(rho, delta):
    epsilon = epsilon_of_rho(rho, delta)
    assert epsilon <= bun_steinke(rho, delta) * (1 + 1e-9)
    assert failure_of_zcdp(epsilon + 1e-9, rho) <= delta * 1.01 or epsilon == 0


@pytest.mark.parametrize(("rho", "delta"), [(0.125, 1e-6), (0.5, 1e-9), (0.001, 1e-5), (3.0, 1e-3)])
def test_the_conversion_agrees_with_opendp(rho, delta):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    noise = dp.m.make_gaussian(
        dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=1000 / math.sqrt(2 * rho)
    )
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1000).epsilon(delta)
    assert epsilon_of_rho(rho, delta) == pytest.approx(theirs, rel=1e-6)


@given(st.floats(0.01, 10), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_the_inverse_stays_below(epsilon, delta):
    rho = rho_of_budget(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon <= epsilon_of_rho(rho * 1.0001, delta) * (1 + 1e-6)


@given(st.lists(st.floats(0.001, 2), max_size=20), st.sampled_from([0.0, 1e-6]))
def test_composition_of_a_fixed_list(epsilons, delta):
    assert composed(epsilons, delta) <= sum(epsilons) + 1e-9
    assert composed([], delta) == 0
    if delta:
        assert composed(epsilons, delta) <= advanced(epsilons, delta)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -0.1},
        {"epsilon": 1.0, "rho": 1.0},
        {"rho": 0.0},
        {"rho": 1.0, "delta": 0.1},
        {"epsilon": True},
        {},
    ],
    ids=str,
)
def test_wrong_budgets(wrong):
    with pytest.raises(ParameterError):
        Budget(**wrong)


@pytest.mark.parametrize("wrong", [0, -0.1, math.nan, math.inf, "much", True, None, [1]], ids=str)
def test_wrong_losses(wrong):
    with pytest.raises(ParameterError):
        PrivacyLoss.of(epsilon=wrong)
    with pytest.raises(ParameterError, match="either epsilon"):
        PrivacyLoss.of(epsilon=0.1, rho=0.1)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_wrong_delta(delta):
    with pytest.raises(ParameterError, match="delta"):
        epsilon_of_rho(0.1, delta)
    with pytest.raises(ParameterError, match="rho"):
        epsilon_of_rho(-1.0, 1e-6)


@pytest.mark.parametrize(
    "amount",
    [1e-320, 5e-324, 1e-300, 1e-16, 1e16, 1e300, 1.7e308, float("nan"), float("inf"), -0.0],
)
@pytest.mark.parametrize("what", ["epsilon", "rho"])
def test_amounts_that_mean_nothing_are_refused(amount, what):
    with pytest.raises(ParameterError):
        PrivacyLoss.of(**{what: amount})
    with pytest.raises(ParameterError):
        Budget(**{what: amount})


def test_a_tiny_delta_is_refused_and_a_share_of_a_small_loss_is_not():
    with pytest.raises(ParameterError, match="delta must be 0 or at least"):
        Budget(1.0, delta=1e-320)
    part = PrivacyLoss.of(epsilon=1e-15).divided(7)
    assert PrivacyLoss.from_dict(part.to_dict()) == part, "a ledger reads what was paid for"
