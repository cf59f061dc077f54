"""Trains Keras models on a Cairn cluster with parameter servers.

    import cairn

    with cairn.local(ps=2, workers=2) as cluster:
        history = cluster.fit(model, x, y, epochs=3, batch_size=128)

`model` is a compiled Keras 3 model. cairn.connect("host:port") uses a cluster that runs already.
The package starts the command line tool `cairn`, which it finds through the environment variable
CAIRN_BIN or the PATH.
"""

from cairn.cluster import Cluster, connect, local
from cairn.errors import CairnError, NotSupported

__all__ = ["CairnError", "Cluster", "NotSupported", "connect", "local"]
