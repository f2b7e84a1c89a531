"""The assistants on this machine: their configuration files, our entries in them, and how to edit them."""
