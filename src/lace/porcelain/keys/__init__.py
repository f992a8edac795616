"""Signing keys as people keep them: one file each, a folder of them, and copies that are put away."""
