"""What a kernel is read into: its statements and expressions, and how each is carried out under a mask."""
