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
