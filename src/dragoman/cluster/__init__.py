"""Work on the machines of a Ray cluster: connecting, what nodes must have in common, shards out and results in.

The only room that knows Ray; what is done there (`core.workers`) is given by who uses it. See docs/howto/ray.md.
"""

from dragoman.cluster.connect import ray_workers

__all__ = ["ray_workers"]
