"""Fits in files: an archive of JSON and safetensors, and datasets as both of them."""
