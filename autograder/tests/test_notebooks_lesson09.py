"""Lesson 9: its exercises reply as they should, its pairs do what they say, and its numbers follow from the data."""
