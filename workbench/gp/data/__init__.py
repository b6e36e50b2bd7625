"""What models learn from, as tensors: bags, inputs and their compression."""
