"""Kernels: their grammar, bag Gram matrices, Fourier features and bag operators."""
