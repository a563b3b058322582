import os
import stat
import threading
from pathlib import Path

import pytest

from tanager.files import written_whole


def test_what_was_there_stays_when_writing_fails(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_readable_as_other_new_files_are(tmp_path):
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    plain.write_text("a")
    with written_whole(whole) as temporary:
        temporary.write_text("b")
    assert whole.stat().st_mode == plain.stat().st_mode


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"), written_whole(tmp_path / "nowhere" / "a"):
        pass


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), written_whole(tmp_path):
        pass


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    null = Path("/dev/null")
    with written_whole(null) as temporary:
        temporary.write_text("gone")
    assert null.is_char_device()
    assert not temporary.exists()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with written_whole(pipe) as temporary:
        temporary.write_text("through")
    reader.join(10)
    assert received == ["through"]
    assert pipe.is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "a.txt", tmp_path / "latest"
    target.write_text("old")
    link.symlink_to(target)
    with written_whole(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_dangling_link_makes_its_target(tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "not-there-yet")
    with written_whole(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "not-there-yet").read_text() == "new"


def test_data_are_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(stat.S_IFMT(os.fstat(handle).st_mode)), sync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (done.append("renamed"), rename(self, target)))
    with written_whole(tmp_path / "a.txt") as temporary:
        temporary.write_text("all of it")
    assert done == [stat.S_IFREG, "renamed", stat.S_IFDIR]
