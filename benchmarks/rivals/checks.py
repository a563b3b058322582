"""Sentences for the page: how the two classifiers of this library do, with their defaults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.rivals.methods import METHODS, NETWORKS
from benchmarks.rivals.outcomes import Outcome, Outcomes, Result, Stopped
from benchmarks.rivals.ranks import rank_methods

_SHARE_OF_NETWORKS, _SHARE_OF_LOGISTIC, _TIMES_FASTER = 0.90, 0.75, 10.0


def is_within(result: Result, lowest: Result) -> bool:
    """Whether an error exceeds the lowest by no more than the standard error of the lowest."""
    return result.error <= lowest.error + lowest.standard_error


def finished(outcomes: Outcomes, methods: Sequence[str]) -> list[str]:
    """Data sets on which all of these methods have a result."""
    return [table for table, of in outcomes.items() if all(isinstance(of.get(method), Result) for method in methods)]


def results_of(outcomes: Outcomes, table: str, methods: Sequence[str]) -> dict[str, Result]:
    """Results of the methods that have one."""
    found = {method: outcomes[table].get(method) for method in methods}
    return {method: result for method, result in found.items() if isinstance(result, Result)}


def check_networks(outcomes: Outcomes) -> str:
    """`TANClassifier()` against the other Bayesian network classifiers."""
    tables = _tried(outcomes, "tan", NETWORKS)
    if not tables:
        return _nothing("other Bayesian network classifiers")
    lowest, near, others = [], [], []
    for table in tables:
        best = min(results_of(outcomes, table, NETWORKS).values(), key=lambda result: result.n_wrong)
        own = outcomes[table]["tan"]
        if isinstance(own, Stopped) or not is_within(own, best):
            others.append(_against(table, own, best))
        else:
            (lowest if own.n_wrong <= best.n_wrong else near).append(table)
    share = (len(lowest) + len(near)) / len(tables)
    listed = f" ({', '.join(near)})" if near else ""
    return (
        "**Against other Bayesian network classifiers** (naive Bayes, Chow-Liu, pyAgrum): the error of "
        f"`TANClassifier()` is the lowest, alone or with others, on {len(lowest)} of {len(tables)} data sets, and "
        f"within one standard error of the lowest on {len(near)} more{listed}: {100 * share:.0f} %. Target: "
        f"{100 * _SHARE_OF_NETWORKS:.0f} %, {_verdict(share >= _SHARE_OF_NETWORKS)}.{_not_on(others)}"
    )


def check_naive_bayes(outcomes: Outcomes) -> str:
    """Whether `TANClassifier()` is ever worse than naive Bayes by more than one standard error."""
    pairs = _pairs(outcomes, "tan", "nb")
    if not pairs:
        return _nothing("naive Bayes")
    worse = [_against(table, own, rival) for table, own, rival in pairs if not is_within(own, rival)]
    where = f"on {', '.join(worse)}" if worse else f"on none of {len(pairs)} data sets"
    return (
        f"**Against naive Bayes**: `TANClassifier()` is worse by more than one standard error {where}. Target: "
        f"never, {_verdict(not worse)}."
    )


def check_logistic(outcomes: Outcomes) -> str:
    """`TANClassifier()` against logistic regression."""
    pairs = _pairs(outcomes, "tan", "logistic")
    if not pairs:
        return _nothing("logistic regression")
    others = [_against(table, own, rival) for table, own, rival in pairs if own.n_wrong > rival.n_wrong]
    n_good = len(pairs) - len(others)
    share = n_good / len(pairs)
    return (
        f"**Against logistic regression on one-hot values**: the error of `TANClassifier()` is lower or equal on "
        f"{n_good} of {len(pairs)} data sets: {100 * share:.0f} %. Target: {100 * _SHARE_OF_LOGISTIC:.0f} %, "
        f"{_verdict(share >= _SHARE_OF_LOGISTIC)}.{_not_on(others)}"
    )


def check_never_worse(outcomes: Outcomes, rival: str) -> str:
    """Whether either classifier of this library is ever worse than a baseline by two standard errors."""
    worse = [
        f"{METHODS[own].about} on {_against(table, one, other)}"
        for own in ("tan", "ensemble")
        for table, one, other in _pairs(outcomes, own, rival)
        if one.error > other.error + 2 * float(np.hypot(one.standard_error, other.standard_error))
    ]
    where = ", ".join(worse) if worse else "neither of the two, on any data set"
    return (
        f"**Worse than {METHODS[rival].title} by two standard errors**: {where}. Target: never, {_verdict(not worse)}."
    )


def check_ranks(outcomes: Outcomes, own: str, rival: str) -> str:
    """Mean ranks of two methods on the data sets that both have finished, among all methods that did."""
    tables = finished(outcomes, [own, rival])
    if not tables:
        return _nothing(METHODS[rival].title)
    ranks = []
    for table in tables:
        present = results_of(outcomes, table, list(METHODS))
        for value in (lambda result: result.n_wrong, lambda result: result.log_loss):
            ranking = rank_methods([[value(result) for result in present.values()]])
            of = dict(zip(present, ranking.mean_ranks, strict=True))
            ranks.append([of[own], of[rival]])
    (own_error, other_error), (own_loss, other_loss) = np.mean(np.reshape(ranks, (-1, 2, 2)), axis=0)
    return (
        f"**{METHODS[own].about} and {METHODS[rival].title}**: mean ranks {own_error:.2f} and {other_error:.2f} on "
        f"error, {own_loss:.2f} and {other_loss:.2f} on log-loss, on the {len(tables)} data sets that both have "
        "finished, among all methods that did."
    )


def check_explainable(outcomes: Outcomes) -> str:
    """`TANEnsembleClassifier()` against explainable boosting: ranks and times of fits."""
    both = ["ensemble", "explainable"]
    tables = finished(outcomes, both)
    if not tables:
        return "**`TANEnsembleClassifier()` against explainable boosting**: no data set was finished by both."
    ranks, ratios = [], []
    for table in tables:
        present = results_of(outcomes, table, list(METHODS))
        ranking = rank_methods([[result.n_wrong for result in present.values()]])
        of = dict(zip(present, ranking.mean_ranks, strict=True))
        ranks.append([of[method] for method in both])
        ratios.append(present["explainable"].fit_seconds / present["ensemble"].fit_seconds)
    own, rival = np.mean(ranks, axis=0)
    n_fast = int(np.count_nonzero(np.array(ratios) >= _TIMES_FASTER))
    typical = float(np.exp(np.mean(np.log(ratios))))
    stopped = [table for table, of in outcomes.items() if isinstance(of.get("explainable"), Stopped)]
    unfinished = f" Explainable boosting did not finish on {', '.join(stopped)}." if stopped else ""
    return (
        f"**`TANEnsembleClassifier()` against explainable boosting**: mean rank on error {own:.2f} against {rival:.2f} "
        f"on the {len(tables)} data sets that both have finished, among all methods that did. Target: not worse, "
        f"{_verdict(own <= rival)}. Its fit is {typical:.3g} times faster in the geometric mean ({min(ratios):.3g} to "
        f"{max(ratios):.3g}), ten times or more on {n_fast} of {len(tables)}. Target: ten times, "
        f"{_verdict(typical >= _TIMES_FASTER)} in the mean.{unfinished}"
    )


def check_in_pairs(outcomes: Outcomes, own: str, rival: str) -> str:
    """One method against another: how often its error and its log-loss are lower, and how the times of fits compare."""
    pairs, name = _pairs(outcomes, own, rival), METHODS[own].about
    if not pairs:
        return _nothing(METHODS[rival].title)
    lower, log_losses = (
        [np.sign(value(one) - value(other)) for _, one, other in pairs]
        for value in (lambda result: result.n_wrong, lambda result: result.log_loss)
    )
    times = float(np.exp(np.mean([np.log(other.fit_seconds / one.fit_seconds) for _, one, other in pairs])))
    return (
        f"**{name} against {METHODS[rival].title}**: of {len(pairs)} data sets that both have finished, the error is "
        f"lower on {lower.count(-1)}, equal on {lower.count(0)} and higher on {lower.count(1)}; the log-loss is lower "
        f"on {log_losses.count(-1)} and higher on {log_losses.count(1)}. In the geometric mean {METHODS[rival].title} "
        f"takes {times:.3g} times as long to fit."
    )


_RANKED = (("ensemble", "explainable"), ("ensemble", "explainable-2"), ("ensemble", "catboost"), ("tan", "additive"))
_IN_PAIRS = (
    *(("ensemble", rival) for rival in ("explainable", "explainable-2", "catboost", "lightgbm", "boosting")),
    *(("tan", rival) for rival in ("additive", "catboost", "lightgbm", "boosting")),
)


def check_all(outcomes: Outcomes) -> list[str]:
    """All sentences."""
    checks = (check_networks, check_naive_bayes, check_logistic, check_explainable)
    return [
        *(check(outcomes) for check in checks),
        *(check_never_worse(outcomes, rival) for rival in ("frequent", "logistic")),
        *(check_ranks(outcomes, *pair) for pair in _RANKED),
        *(check_in_pairs(outcomes, *pair) for pair in _IN_PAIRS),
    ]


def _tried(outcomes: Outcomes, own: str, rivals: Sequence[str]) -> list[str]:
    """Data sets on which the method was tried and at least one of its rivals has a result."""
    return [table for table, of in outcomes.items() if own in of and results_of(outcomes, table, rivals)]


def _pairs(outcomes: Outcomes, own: str, rival: str) -> list[tuple[str, Result, Result]]:
    """Data sets that both have finished, with the two results."""
    return [(table, outcomes[table][own], outcomes[table][rival]) for table in finished(outcomes, [own, rival])]


def _against(table: str, own: Outcome, rival: Result) -> str:
    """A data set with the two errors."""
    if isinstance(own, Stopped):
        return f"{table} ({own.why})"
    return f"{table} ({own.error:.2f} against {rival.error:.2f} ± {rival.standard_error:.2f})"


def _verdict(is_met: bool) -> str:
    return "**met**" if is_met else "**missed**"


def _not_on(others: Sequence[str]) -> str:
    return f" Not on {', '.join(others)}." if others else ""


def _nothing(rivals: str) -> str:
    return f"**Against {rivals}**: no data set was finished by both."
