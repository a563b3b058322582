"""A table as people keep it, and the same rows without the mess: the truth is known."""

import numpy as np
import pandas as pd

FIRST_DAY = pd.Timestamp("2024-01-01")


def make_tables(n_rows=1500, seed=0):
    """A clean frame, the messy one of the same rows (all text), and the classes.

    The class depends on the income, the rate, the weekday and whether the person is a member.
    """
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.5, 0.6, n_rows).round(2)
    rate = rng.uniform(0, 10, n_rows).round(1)
    fee = rng.gamma(2.0, 150.0, n_rows).round(2)
    weight = rng.normal(70, 12, n_rows).round(1)
    day = rng.integers(0, 700, n_rows)
    member = rng.random(n_rows) < 0.5
    town = rng.choice(["Linz", "Graz", "Wien"], n_rows)
    dates = FIRST_DAY + pd.to_timedelta(day, unit="D")
    score = (
        1.5 * (np.log(income) - 10.5) / 0.6
        + 0.4 * (rate - 5)
        + 1.2 * (dates.day_of_week >= 5)
        - 1.5 * member
        + (fee - 300) / 200
    )
    y = np.where(score + rng.logistic(scale=0.5, size=n_rows) > 0, "late", "in time")
    clean = pd.DataFrame(
        {
            "income": income,
            "rate": rate,
            "fee": fee,
            "weight": weight,
            "days": day,
            "weekday": dates.day_name(),
            "member": np.where(member, "yes", "no"),
            "town": town,
        }
    )
    spelled_yes, spelled_no = ["yes", "Yes", "Y", "YES "], ["no", "No", "N", "n"]
    messy = pd.DataFrame(
        {
            "customer": [f"C-{number:06d}" for number in rng.permutation(n_rows)],
            "income": [f"{value:,.2f}" for value in income],
            "rate": [f"{value}%" for value in rate],
            "fee": [f"EUR {value:,.2f}".translate(str.maketrans(",.", ".,")) for value in fee],
            "weight": [f"{value} kg" if value == value else "n/a" for value in np.where(day % 50, weight, np.nan)],
            "due": dates.strftime("%d.%m.%Y"),
            "member": [rng.choice(spelled_yes if each else spelled_no) for each in member],
            "town": [rng.choice([name, name.upper(), f" {name}"]) for name in town],
            "currency": ["EUR"] * n_rows,
            "remark": [f"called on day {k} and spoke about {rng.integers(10**6)} other things" for k in range(n_rows)],
        }
    )
    return clean, messy, y
