"""What a Tensor is: the class, how it is made, converted, indexed, changed in place and printed."""
