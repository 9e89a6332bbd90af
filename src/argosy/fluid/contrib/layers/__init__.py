"""``fluid.contrib.layers``: recurrent layers made of basic operators."""
