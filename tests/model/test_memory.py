import resource

import pytest

from tanager.model import memory


@pytest.mark.parametrize(
    ("text", "expected"), [("max\n", None), ("1048576\n", 1048576), ("", None), ("9223372036854771712\n", 2**63 - 4096)]
)
def test_the_limit_of_a_container(tmp_path, monkeypatch, text, expected):
    path = tmp_path / "memory.max"
    path.write_text(text)
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (tmp_path / "nowhere", path))
    assert memory._container_limit() == expected
    assert memory.allowed_memory() <= (expected or memory._physical_memory())


def test_what_is_left_of_a_limit_of_the_process(monkeypatch):
    assert memory._own_limit() is None
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**40, 2**40))
    left = memory._own_limit()
    assert 0 < left < 2**40
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, 1))
    assert memory.allowed_memory() == 0


def test_a_system_that_does_not_tell(monkeypatch):
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", ())
    monkeypatch.setattr(memory, "_physical_memory", lambda: None)
    monkeypatch.setattr(memory, "_own_limit", lambda: None)
    assert memory.allowed_memory() is None
