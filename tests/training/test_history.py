import pytest

from tanager.training import History

COLUMNS = ["loss", "error", "entropy", "learning_rate", "tau"]


def test_one_entry_for_each_epoch():
    history = History()
    assert len(history) == 0
    for k in range(3):
        history.append(**{name: k + position for position, name in enumerate(COLUMNS)})
    assert len(history) == 3
    arrays = history.to_arrays()
    assert list(arrays) == COLUMNS
    assert arrays["entropy"].tolist() == [2.0, 3.0, 4.0]


def test_every_column_must_be_given():
    with pytest.raises(KeyError, match="error"):
        History().append(loss=1.0)
