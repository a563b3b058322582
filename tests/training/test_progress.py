import io

from tanager.training import History, progress
from tanager.training.progress import ProgressBar


class State:
    """As much of a state as the bar reads."""

    def __init__(self, epoch, loss=1.5, error=0.25, entropy=0.693):
        self.epoch = epoch
        self.history = History([loss], [error], [entropy], [0.1], [10.0])


def test_bar_shows_loss_error_and_entropy():
    stream = io.StringIO()
    ProgressBar(4, stream)(State(epoch=2, loss=12.3456, error=0.0789, entropy=0.6931))
    line = stream.getvalue()
    assert line.startswith("\repoch 2/4 [##########..........] ")
    assert "loss 12.35" in line
    assert "error 7.89%" in line
    assert "entropy 0.693" in line
    assert line.endswith(" s left ")


def test_last_epoch_ends_the_line():
    stream = io.StringIO()
    bar = ProgressBar(2, stream)
    bar(State(epoch=1))
    bar(State(epoch=2))
    assert stream.getvalue().count("\r") == 2
    assert stream.getvalue().endswith("0 s left \n")
    assert "[####################]" in stream.getvalue()


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
