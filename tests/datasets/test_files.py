"""Where data files are found, and downloads from a server on loopback: whole, corrupt, missing, slow, nowhere to go."""

import hashlib
import http.server
import resource
import socket
import sys
import threading

import pytest

from tanager.datasets import files
from tanager.datasets.files import DataError, data_file

pytest.importorskip("pooch")

NAME = "letter_raw.npz"
CONTENT = b"stands for a data file " * 5000


class Server:
    """Serves one file on loopback, and counts how often it was asked."""

    def __init__(self, content, status=200):
        self.content, self.status, self.n_asked = content, status, 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.n_asked += 1
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(CONTENT)))
                self.end_headers()
                self.wfile.write(outer.content)

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/files"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def serve(monkeypatch):
    servers = []

    def start(content=CONTENT, status=200):
        server = Server(content, status)
        servers.append(server)
        monkeypatch.setenv("TANAGER_DATA_URL", server.url)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """An empty cache, no other place to look in, and the hash of the file that the server has."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    monkeypatch.delenv("TANAGER_DATA_URL", raising=False)
    monkeypatch.setenv("TANAGER_CACHE", str(folder))
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setitem(files.SHA256, NAME, hashlib.sha256(CONTENT).hexdigest())
    return folder


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_file_is_downloaded_once(serve, cache):
    server = serve()
    assert data_file(NAME) == cache / NAME
    assert data_file(NAME).read_bytes() == CONTENT
    assert server.n_asked == 1


def test_given_folder_comes_first(serve, cache, tmp_path, monkeypatch):
    server = serve()
    given = tmp_path / "given"
    given.mkdir()
    (given / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("TANAGER_DATA", str(given))
    assert data_file(NAME) == given / NAME
    assert server.n_asked == 0


def test_file_that_the_given_folder_lacks_is_downloaded(serve, cache, tmp_path, monkeypatch):
    serve()
    monkeypatch.setenv("TANAGER_DATA", str(tmp_path))
    assert data_file(NAME) == cache / NAME


def test_wrong_file_in_the_given_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(b"something else")
    monkeypatch.setenv("TANAGER_DATA", str(tmp_path))
    with pytest.raises(DataError, match="is not the file it should be: its SHA-256 is"):
        data_file(NAME)


def test_given_folder_must_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("TANAGER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nowhere, which is not a folder"):
        data_file(NAME)


def test_damaged_file_in_the_cache_is_replaced(serve, cache):
    serve()
    cache.mkdir()
    (cache / NAME).write_bytes(CONTENT[:-1])
    assert data_file(NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), CONTENT[:-1] + b"!"], ids=["other", "one byte"])
def test_corrupt_download_leaves_nothing(serve, cache, content):
    server = serve(content)
    with pytest.raises(DataError, match="is corrupt, or another file"):
        data_file(NAME)
    assert list(cache.iterdir()) == []
    assert server.n_asked == 2


def test_download_cut_short_leaves_nothing(serve, cache):
    serve(CONTENT[:1000])
    with pytest.raises(DataError, match="cannot be reached"):
        data_file(NAME)
    assert list(cache.iterdir()) == []


def test_corrupt_download_keeps_what_the_cache_had(serve, cache):
    serve(b"x" * len(CONTENT))
    cache.mkdir()
    (cache / "other.npz").write_bytes(b"kept")
    with pytest.raises(DataError, match="corrupt"):
        data_file(NAME)
    assert [path.name for path in cache.iterdir()] == ["other.npz"]


def test_file_that_the_server_lacks(serve):
    serve(status=404)
    with pytest.raises(DataError, match=r"cannot be downloaded: 404.*Set TANAGER_DATA"):
        data_file(NAME)


def test_offline(monkeypatch):
    monkeypatch.setenv("TANAGER_DATA_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(DataError, match=r"cannot be reached; is this machine offline\? Set TANAGER_DATA"):
        data_file(NAME)


def test_no_address(monkeypatch):
    monkeypatch.setattr(files, "DEFAULT_BASE_URL", "")
    with pytest.raises(DataError, match=r"no address to download it from is set\. Set TANAGER_DATA"):
        data_file(NAME)


def test_cache_that_cannot_be_written(serve, cache):
    serve()
    cache.write_bytes(b"a file where the folder should be")
    with pytest.raises(DataError, match="to the cache"):
        data_file(NAME)


def test_full_disk(serve, cache):
    serve()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, limits[1]))
    try:
        with pytest.raises(DataError, match="to the cache"):
            data_file(NAME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(cache.iterdir()) == []


def test_without_pooch(monkeypatch, serve):
    serve()
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"downloading needs pooch: pip install 'tanager\[experiments\]'"):
        data_file(NAME)
