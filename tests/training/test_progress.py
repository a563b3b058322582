import io

from tanager.training import History, progress
from tanager.training.progress import ProgressBar, RowProgress


class State:
    """As much of a state as the bar reads."""

    def __init__(self, epoch, loss=1.5, error=0.25, entropy=0.693):
        self.epoch = epoch
        self.history = History([loss], [error], [entropy], [0.1], [10.0])


def test_bar_shows_loss_error_and_entropy():
    stream = io.StringIO()
    ProgressBar(4, stream)(State(epoch=2, loss=12.3456, error=0.0789, entropy=0.6931))
    line = stream.getvalue()
    assert line.startswith("\repoch 2/4 [#####.....] ")
    assert "loss 12.35" in line
    assert "error 7.89%" in line
    assert "entropy 0.69" in line
    assert line.endswith(" s left")


def test_last_epoch_ends_the_line():
    stream = io.StringIO()
    bar = ProgressBar(2, stream)
    bar(State(epoch=1))
    bar(State(epoch=2))
    assert stream.getvalue().count("\r") == 2
    assert stream.getvalue().endswith("0 s left\n")
    assert "[##########]" in stream.getvalue()


def test_fast_epochs_are_not_all_written(monkeypatch):
    now = iter([100.01, 100.02, 100.03, 100.2, 100.21])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    stream = io.StringIO()
    bar = ProgressBar(5, stream)
    for epoch in range(1, 6):
        bar(State(epoch))
    shown = [part.split("/")[0] for part in stream.getvalue().split("\repoch ")[1:]]
    assert shown == ["1", "4", "5"]


def test_standard_error_is_the_default(capsys):
    ProgressBar(1)(State(epoch=1))
    captured = capsys.readouterr()
    assert "epoch 1/1" in captured.err
    assert not captured.out


def test_a_line_is_no_wider_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream = io.StringIO()
    ProgressBar(500, stream)(State(epoch=499, loss=-1234.5, error=0.98765, entropy=1.23456))
    ProgressBar(10_000, stream)(State(epoch=9_999, loss=-1.2345e-10, error=1.0, entropy=12.3456))
    RowProgress("encoding what has a name that is much longer than it ought to be", 10**12, stream)(10**12)
    lines = stream.getvalue().replace("\n", "").split("\r")[1:]
    assert lines[0].endswith("s left")  # all of it fits
    assert max(map(len, lines)) < 80


def test_what_was_longer_is_written_over(monkeypatch):
    now = iter([100.0, 200.0, 300.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    stream = io.StringIO()
    bar = ProgressBar(3, stream)
    bar(State(epoch=1, loss=1.23456e-12))
    bar(State(epoch=2, loss=1.0))
    first, second = stream.getvalue().split("\r")[1:]
    assert len(second) == len(first)
