"""From a Spec to a file: options, models, data, training, output."""
