"""Parts of the simulated country: terrain, people, borders."""
