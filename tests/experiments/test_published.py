"""The authors' draws come out again: a configuration named by its numbers has the published hyperparameters."""

import numpy as np
import pytest

from tanager import GradientDescent, Hybrid, TANClassifier, paper_settings
from tanager.experiments import LEARNING_RATES, SUBSET_SIZES, published_draws

N_FEATURES = {"letter": 16, "satimage": 36, "usps": 256, "mnist": 196}
BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250}

# Published best configurations: ordering, subset draw, number in setting (II), lambda and gamma to two decimals.
BEST_SUBSET = {
    "letter": (3, 1, 15, 110.42, 17.97),
    "satimage": (0, 3, 91, 10.23, 70.76),
    "usps": (2, 3, 64, 107.41, 89.53),
    "mnist": (2, 0, 65, 942.36, 84.99),
}
# TAN All: ordering, then lambda, gamma and eta as published, to three or four digits.
BEST_ALL = {"letter": (3, 301.2, 2.57, 1.96), "satimage": (2, 5.48, 90.0, 18.3)}
ALL_NUMBERS = {"letter": 442, "satimage": 379}


@pytest.mark.parametrize("dataset", BEST_SUBSET)
def test_setting_2_holds_the_published_numbers(dataset):
    _, _, number, lam, gamma = BEST_SUBSET[dataset]
    draws = published_draws(N_FEATURES[dataset])
    np.testing.assert_array_equal(draws.setting_2[number].round(2), [lam, gamma, 10.0])


@pytest.mark.parametrize("dataset", BEST_ALL)
def test_setting_1_holds_the_published_numbers_of_tan_all_once(dataset):
    _, lam, gamma, eta = BEST_ALL[dataset]
    setting = published_draws(N_FEATURES[dataset]).setting_1
    # Half a unit of the last published digit.
    half_units = {"letter": [0.05, 0.005, 0.005], "satimage": [0.005, 0.05, 0.05]}[dataset]
    is_match = (np.abs(setting - [lam, gamma, eta]) <= half_units).all(axis=1)
    assert np.flatnonzero(is_match).tolist() == [ALL_NUMBERS[dataset]]


def test_hyperparameters_lie_in_the_published_ranges():
    draws = published_draws(16)
    assert draws.setting_1.shape == (500, 3)
    assert draws.setting_2.shape == (100, 3)
    for setting, lowest, highest in [
        (draws.setting_1, [1, 0.1, 1], [1000, 100, 20]),
        (draws.setting_2, [10, 0.1, 10], [1000, 100, 10]),
    ]:
        assert (setting >= lowest).all()
        assert (setting <= highest).all()
    np.testing.assert_array_equal(draws.setting_2[:, 2], 10.0)


@pytest.mark.parametrize("n_features", [16, 36])
def test_orderings_and_subsets_come_from_the_stated_sequence_of_draws(n_features):
    stream = np.random.RandomState(265304870)
    stream.randint(1, int(1e9), 1000)
    stream.uniform(size=1500)
    stream.randint(1, int(1e9), 4000)
    orderings = [list(range(n_features))] + [stream.permutation(n_features).tolist() for _ in range(4)]
    subsets = [[stream.permutation(i).tolist() for i in range(n_features)] for _ in range(10)]
    draws = published_draws(n_features)
    assert draws.orderings.tolist() == orderings
    assert [[positions.tolist() for positions in draw] for draw in draws.subsets] == subsets


def test_hyperparameters_do_not_depend_on_the_number_of_features():
    small, large = published_draws(16), published_draws(256)
    np.testing.assert_array_equal(small.setting_1, large.setting_1)
    np.testing.assert_array_equal(small.setting_2, large.setting_2)


@pytest.mark.parametrize(("ordering", "draw"), [(0, 0), (3, 1), (4, 4)])
def test_subset_takes_the_first_positions_of_the_draw(ordering, draw):
    draws = published_draws(16)
    order = draws.orderings[ordering]
    candidates = draws.subset(ordering, draw, 5).to_lists()
    for position, feature in enumerate(order):
        expected = order[draws.subsets[draw][position][:5]].tolist()
        assert candidates[feature] == [-1, *expected]


def test_subsets_nest_across_sizes():
    draws = published_draws(36)
    small, middle, large = (draws.subset(2, 3, size).to_lists() for size in SUBSET_SIZES)
    for few, some, many in zip(small, middle, large, strict=True):
        assert few == some[: len(few)]
        assert some == many[: len(some)]
    assert sum(map(len, small)) < sum(map(len, middle)) < sum(map(len, large))


def test_settings_without_a_data_set_are_the_shared_ones():
    settings = paper_settings()
    assert list(settings) == ["parameters"]
    options = {
        "loss": Hybrid(),
        "epochs": 500,
        "learning_rate": 0.03,
        "learning_rate_decay": 1e-3,
        "structure_learning_rate": 1e-3,
        "tau": (10.0, 0.1),
        "optimiser": "dense",
    }
    assert settings["parameters"] == GradientDescent(**options)
    found = settings["parameters"].get_params(deep=False)
    assert {name: found[name] for name in options} == options
    assert settings["parameters"].learning_rate in LEARNING_RATES


@pytest.mark.parametrize("dataset", BATCH_SIZES)
def test_settings_of_a_data_set_add_its_batch_size(dataset):
    shared = paper_settings()["parameters"]
    assert paper_settings(dataset) == {"parameters": shared.set_params(batch_size=BATCH_SIZES[dataset])}
    assert paper_settings(dataset)["parameters"] != shared


@pytest.mark.parametrize("dataset", BEST_SUBSET)
def test_best_subset_configuration(dataset):
    ordering, draw, number, lam, gamma = BEST_SUBSET[dataset]
    settings = paper_settings(dataset, "subset")
    draws = published_draws(N_FEATURES[dataset])
    assert settings["structure"] == draws.subset(ordering, draw, 8)
    loss = settings["parameters"].loss
    assert [round(value, 2) for value in (loss.lam, loss.gamma, loss.eta)] == [lam, gamma, 10.0]
    assert (loss.lam, loss.gamma) == tuple(draws.setting_2[number, :2])
    assert settings["parameters"].set_params(loss=Hybrid()) == paper_settings(dataset)["parameters"]


@pytest.mark.parametrize("dataset", BEST_ALL)
def test_best_configuration_of_tan_all(dataset):
    ordering = BEST_ALL[dataset][0]
    settings = paper_settings(dataset, "all")
    draws = published_draws(N_FEATURES[dataset])
    order = draws.orderings[ordering].tolist()
    candidates = settings["structure"].to_lists()
    assert all(candidates[feature] == [-1, *order[:position]] for position, feature in enumerate(order))
    exact = draws.setting_1[ALL_NUMBERS[dataset]]
    assert settings["parameters"].loss == Hybrid(*exact)


@pytest.mark.parametrize("method", ["subset", "all"])
def test_settings_are_options_of_the_classifier(method):
    settings = paper_settings("letter", method)
    options = TANClassifier(**settings).get_params()
    assert set(settings) == {"structure", "parameters"}
    assert {name: options[name] for name in settings} == settings
    assert options["parameters__loss__lam"] == settings["parameters"].loss.lam


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("iris",), "dataset must be 'letter', 'satimage', 'usps' or 'mnist', got 'iris'"),
        (("leter",), "did you mean 'letter'"),
        (("letter", "heuristic"), "method must be 'subset' or 'all', got 'heuristic'"),
        (("usps", "all"), "TAN All was published for letter and satimage only, not for usps"),
        (("mnist", "all"), "letter and satimage only, not for mnist"),
        ((None, "subset"), "method requires a dataset"),
    ],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        paper_settings(*arguments)
