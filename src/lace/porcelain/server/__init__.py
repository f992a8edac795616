"""A server of exchanges: its file, whom it lets in, how much they may have, and what it tells."""
