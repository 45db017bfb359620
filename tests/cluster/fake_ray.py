"""As much of Ray as is used, in this process: everything travels as bytes, tasks end in any order, workers die."""

from __future__ import annotations

import pickle
from random import Random
from types import SimpleNamespace
from uuid import uuid4

ACTORS = {}


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(f"ray::task\n{type(cause).__name__}: {cause}")
        self.cause = cause

    def __reduce__(self):
        return RayTaskError, (self.cause,)


class WorkerCrashedError(RayError):
    pass


class Actor:
    def __init__(self, key):
        self.key = key

    def __reduce__(self):
        return Actor, (self.key,)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(ACTORS[self.key], name)
        return SimpleNamespace(remote=lambda *given: Value(method(*given)))


class Value:
    def __init__(self, value):
        self.value = value


class FakeRay:
    """`deaths` says how often the worker of the how-manieth task dies after its work, before it is heard of."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *, cpus=2.0, gpus=0.0, seed=1, deaths=None):
        self.resources = {"CPU": cpus, "GPU": gpus}
        self.deaths = dict(deaths or {})
        self.tasks = []
        self.ran = []
        self.ahead = 0
        self._random = Random(seed)
        self._objects = {}
        self._waiting = {}

    def put(self, value):
        key = uuid4().hex
        self._objects[key] = pickle.dumps(value)
        return key

    def cluster_resources(self):
        return dict(self.resources)

    def remote(self, **options):
        def made(what):
            if isinstance(what, type):
                return SimpleNamespace(remote=lambda: self._actor(what))
            return SimpleNamespace(remote=lambda *given: self._task(what, given, options))

        return made

    def wait(self, references, timeout):
        [wanted] = references
        self.ahead = max(self.ahead, len(self._waiting))
        if self.resources["CPU"] < 1:
            return [], references
        while wanted in self._waiting:
            self._run(self._random.choice(list(self._waiting)))
        return references, []

    def get(self, reference, timeout=None):
        if isinstance(reference, Value):
            return reference.value
        found = pickle.loads(self._objects[reference])
        if isinstance(found, RayError):
            raise found
        return found

    def _actor(self, kind):
        key = uuid4().hex
        ACTORS[key] = kind()
        return Actor(key)

    def _task(self, function, given, options):
        key = uuid4().hex
        self._waiting[key] = len(self.tasks), function, pickle.dumps(given), options
        self.tasks.append(options)
        return key

    def _run(self, key):
        number, function, given, options = self._waiting.pop(key)
        for _ in range(min(self.deaths.get(number, 0), options["max_retries"] + 1)):
            self.ran.append(number)
            function(*pickle.loads(given))
        if self.deaths.get(number, 0) > options["max_retries"]:
            self._objects[key] = pickle.dumps(WorkerCrashedError("The worker died unexpectedly."))
            return
        self.ran.append(number)
        try:
            self._objects[key] = pickle.dumps(function(*pickle.loads(given)))
        except Exception as error:  # noqa: BLE001 - as Ray does
            self._objects[key] = pickle.dumps(RayTaskError(error))
