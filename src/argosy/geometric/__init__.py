"""``paddle.geometric``: graphs; messages along edges, samples, segments."""

from argosy.geometric.math import segment_max, segment_mean, segment_min, segment_sum
from argosy.geometric.message_passing import send_u_recv, send_ue_recv, send_uv
from argosy.geometric.reindex import reindex_graph, reindex_heter_graph
from argosy.geometric.sampling import sample_neighbors, weighted_sample_neighbors

__all__ = [
    "reindex_graph",
    "reindex_heter_graph",
    "sample_neighbors",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
    "weighted_sample_neighbors",
]
