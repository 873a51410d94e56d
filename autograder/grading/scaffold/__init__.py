"""What `autograder new-lab` starts a lab with: @NAME@, @TOPIC@ (in words), @LESSON@ and @HOURS@ stand for the lab's own."""
