from benchmarks.service import measure


def test_every_answer_is_that_of_the_classifier():
    found = measure(n_clients=3, seconds=20, n_requests=60)
    assert (found["requests"], found["errors"], found["first error"]) == (60, 0, "none")
    assert 0 < found["p50 ms"] <= found["p99.9 ms"]
