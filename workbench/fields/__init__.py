"""What q(f) is: exact conditioning on bags, or whitened inducing features."""
