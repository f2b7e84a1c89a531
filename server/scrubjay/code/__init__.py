"""Finds the source code that records name, and checks if it is still the same.

`names` finds paths and symbols in a text, `definitions` hashes the definition of a symbol, `git` reads a
repository, `anchors` notes the code that a record names, `book` stores the anchors, and `marks` compares them
with the working tree.
"""
