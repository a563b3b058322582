"""Files that are signed or whose digest is known: no other file, and no changed one, is loaded."""

import hashlib

import numpy as np
import pytest

import tanager
from tanager.files import ModelFileError, read_header
from tests.files.model_files import small_classifier, with_checksum

KEY, OTHER = b"0123456789abcdef", b"0123456789abcdeF"


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    path = tmp_path_factory.mktemp("signed") / "signed.tanager"
    small_classifier().save(path, {"who": "me"}, key=KEY)
    return path


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.tanager"
    small_classifier().save(path)
    return path


def refusal(path, **options):
    with pytest.raises(ModelFileError) as caught:
        tanager.load(path, **options)
    return str(caught.value)


def test_the_same_classifier_with_and_without_the_key(signed):
    classifier = small_classifier()
    for loaded in (tanager.load(signed, key=KEY), tanager.load(signed)):
        assert loaded.network_.theta.tobytes() == classifier.network_.theta.tobytes()
    assert read_header(signed)["metadata"] == {"who": "me"}


def test_another_key_and_no_signature_are_refused(signed, plain):
    assert "signed with another key, or changed" in refusal(signed, key=OTHER)
    assert "is not signed, but a key was given" in refusal(plain, key=KEY)


def test_no_change_of_a_signed_file_goes_unnoticed(signed, tmp_path):
    content, path = signed.read_bytes(), tmp_path / "changed.tanager"
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        refusal(path, key=KEY)
    # Whoever changes a file can give it a right checksum, but no signature.
    body = bytearray(content[:-64])
    body[200] ^= 1
    path.write_bytes(with_checksum(bytes(body)) + content[-32:])
    assert "signature is wrong" in refusal(path, key=KEY)
    body[12] = 0  # and can say that it is not signed
    path.write_bytes(with_checksum(bytes(body)))
    assert "is not signed" in refusal(path, key=KEY)


def test_a_signed_file_cut_off_is_refused(signed, tmp_path):
    content, path = signed.read_bytes(), tmp_path / "cut.tanager"
    for length in range(0, len(content), 11):
        path.write_bytes(content[:length])
        refusal(path)
        refusal(path, key=KEY)


def test_digests(plain, signed):
    for path in (plain, signed):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert tanager.load(path, sha256=digest).classes_.size
        assert tanager.load(path, sha256=digest.upper()).classes_.size
    assert "not the one that was expected" in refusal(plain, sha256=digest)


@pytest.mark.parametrize("sha256", ["", "0" * 63, "g" * 64, b"0" * 64, 7])
def test_what_is_not_a_digest(plain, sha256):
    with pytest.raises(TypeError, match="64 hexadecimal digits"):
        tanager.load(plain, sha256=sha256)


@pytest.mark.parametrize("key", ["a text of more than sixteen", b"", b"short", 7, np.zeros(32, np.uint8)])
def test_what_is_not_a_key(plain, key):
    before = plain.read_bytes()
    with pytest.raises(TypeError, match="key must be bytes, at least 16"):
        tanager.load(plain, key=key)
    with pytest.raises(TypeError, match="key must be bytes, at least 16"):
        small_classifier().save(plain, key=key)
    assert plain.read_bytes() == before
