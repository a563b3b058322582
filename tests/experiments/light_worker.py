"""Workers for tests of the pool itself: they import nothing of the library, and so start at once."""

import json
import os
import time

RESULT = json.dumps(
    {
        "test_error": 0.5,
        "validation_error": None,
        "parents": [-1],
        "recovered": None,
        "seconds": 1.0,
        "cpu_seconds": 1.0,
    }
)


def end_suddenly(connection):
    connection.recv()
    os._exit(3)


def answer_once(connection):
    connection.recv()
    connection.send((True, RESULT))
    time.sleep(600)
