"""Lesson 9, the map: what its two notebooks and its deck import."""
