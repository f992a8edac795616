"""Records in many: into a store, out of it, and what was set aside on the way."""
