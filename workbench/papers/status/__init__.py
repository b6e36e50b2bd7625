"""What of the four papers comes out here, row by row, from the stored results."""
