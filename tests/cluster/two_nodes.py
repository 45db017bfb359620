"""A Ray cluster of two nodes on this machine: says its address, kills the second node when told, ends with its input.

A program of its own, so that Ray lives in no process of the tests.
"""

import os
import signal
import sys

from ray.cluster_utils import Cluster

MEMORY = 200_000_000


def pids(node):
    return [info.process.pid for infos in node.all_processes.values() for info in infos]


def main():
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY},
    )
    second = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    cluster.wait_for_nodes()
    sys.stdout.write(f"{cluster.address}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip() == "kill" and second is not None:
            for pid in pids(second):
                os.kill(pid, signal.SIGKILL)
            second = None
        elif line.strip() == "add":
            second = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        sys.stdout.write("done\n")
        sys.stdout.flush()
    for node in cluster.list_all_nodes():
        node.kill_all_processes(check_alive=False, allow_graceful=True, wait=True)


main()
