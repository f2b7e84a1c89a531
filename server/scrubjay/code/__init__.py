"""What a record says about source code, and if that still holds.

`names` finds paths and symbols in a text, `definitions` hashes what a symbol stands for, `git` reads a
repository, `anchors` notes what a record named, `book` stores that, and `marks` compares it with the working
tree.
"""
