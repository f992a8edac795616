"""Exchanges with other laces: one side of one, those that stay open, and what was said in them."""
