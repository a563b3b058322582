"""Prediction under load: a small threaded service on loopback, some clients, and what they meet.

``python -m benchmarks.service --seconds 600`` serves one classifier over HTTP from threads of this process, on
127.0.0.1 only. Clients send rows in batches of 1 to 50 as JSON and compare the answers with those of the classifier. It
ends after the time or the number of requests that were given, and prints the number of errors, percentiles of the
latency and the growth of the memory between the first tenth and the end.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from array import array
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from tanager import TANClassifier

_LARGEST_BATCH = 50


def make_server(classifier: TANClassifier) -> ThreadingHTTPServer:
    """A server of probabilities on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(classifier.predict_proba(np.array(rows)).tolist()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


class Client(threading.Thread):
    """Sends batches until the time is over or all requests are sent."""

    def __init__(self, port: int, rows: np.ndarray, expected: np.ndarray, seed: int, end: float, n_most: int) -> None:
        super().__init__()
        self._port, self._rows, self._expected, self._end, self._n_most = port, rows, expected, end, n_most
        self._rng = np.random.default_rng(seed)
        self.latencies = array("d")  # small, so that the memory of the service shows
        self.errors: list[str] = []

    def run(self) -> None:
        """Send, compare and time."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        while time.monotonic() < self._end and len(self.latencies) < self._n_most:
            chosen = self._rng.integers(0, len(self._rows), self._rng.integers(1, _LARGEST_BATCH + 1))
            try:
                start = time.perf_counter()
                connection.request("POST", "/", json.dumps(self._rows[chosen].tolist()))
                answer = np.array(json.loads(connection.getresponse().read()))
                self.latencies.append(time.perf_counter() - start)
                if not np.array_equal(answer, self._expected[chosen]):
                    self.errors.append("an answer that differs from that of the classifier")
            except (OSError, ValueError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                connection.close()
        connection.close()


def resident_megabytes() -> float:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(n_clients: int, seconds: float, n_requests: int) -> dict[str, Any]:
    """Serve and ask; returns counts, latencies in milliseconds and megabytes."""
    X, y = load_digits(return_X_y=True)
    classifier = TANClassifier("chow-liu", "ml", n_jobs=1).fit(X, y)
    expected = classifier.predict_proba(X)
    server = make_server(classifier)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = time.monotonic()
    arguments = (X, expected)
    clients = [
        Client(server.server_port, *arguments, seed, start + seconds, n_requests // n_clients)
        for seed in range(n_clients)
    ]
    for client in clients:
        client.start()
    early = None
    while any(client.is_alive() for client in clients):
        time.sleep(0.05)
        done = max((time.monotonic() - start) / seconds, sum(len(each.latencies) for each in clients) / n_requests)
        if early is None and done >= 0.1:
            early = resident_megabytes()
    late = resident_megabytes()
    server.shutdown()
    server.server_close()
    latencies = 1000 * np.concatenate([client.latencies for client in clients])
    errors = [error for client in clients for error in client.errors]
    percentiles = dict(zip(("p50", "p90", "p99", "p99.9"), np.percentile(latencies, [50, 90, 99, 99.9]), strict=True))
    return {
        "clients": n_clients,
        "seconds": time.monotonic() - start,
        "requests": len(latencies),
        "errors": len(errors),
        "first error": errors[0] if errors else "none",
        **{f"{name} ms": value for name, value in percentiles.items()},
        "memory MB": late,
        "growth MB": late - (late if early is None else early),
    }


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--requests", type=int, default=1_000_000, help="stop after so many in all")
    options = parser.parse_args()
    for name, value in measure(options.clients, options.seconds, options.requests).items():
        print(f"{name:12} {value:,.1f}" if isinstance(value, float) else f"{name:12} {value}")


if __name__ == "__main__":
    main()
