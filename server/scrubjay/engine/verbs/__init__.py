"""What faces ask an engine for, each verb once."""
