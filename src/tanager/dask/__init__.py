"""The classifiers for rows on a Dask cluster: frames and arrays that stay where they are (docs/cluster.md).

>>> from tanager.dask import TANClassifier
>>> TANClassifier("chow-liu", "ml").to_local()
TANClassifier(parameters='ml', structure='chow-liu')
"""

from tanager.dask.classifiers import TANClassifier, TANEnsembleClassifier
from tanager.dask.cluster import ClusterError

__all__ = ["ClusterError", "TANClassifier", "TANEnsembleClassifier"]
