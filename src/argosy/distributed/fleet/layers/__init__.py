"""``fleet.layers``: operators on tensors that are cut over ranks."""
