"""What `autograder new-lab` starts a lab with; @NAME@ and @TOPIC@ stand for the lab's name and its topic in words."""
