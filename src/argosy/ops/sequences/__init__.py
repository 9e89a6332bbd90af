"""Ops on sequences of unequal lengths (LoD), and the step of beam search."""
