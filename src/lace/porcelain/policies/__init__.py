"""Policies as people write them: a file, its mistakes, its cases, and what another one would change."""
