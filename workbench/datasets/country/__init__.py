"""Parts of the made country: terrain, people, borders."""
