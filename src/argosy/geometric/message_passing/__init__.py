"""``paddle.geometric.message_passing``: messages along edges."""

from argosy.geometric.message_passing.send_recv import send_u_recv, send_ue_recv, send_uv

__all__: list[str] = []
