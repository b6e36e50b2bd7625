"""Models: assemblies of operators, links, likelihoods and fields, by name in the registry."""
