"""Small, named, repeatable measurements: `make bench-records` runs bench/records.py, and so on.

A number goes into the documents only with the machine and the date it was measured on.
"""
