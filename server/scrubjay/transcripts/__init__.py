"""What hosts write of their conversations, and the turns in it."""
