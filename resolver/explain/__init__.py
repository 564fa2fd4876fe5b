"""Explain why a stack has no solution, which changes give it one, and why a pin is what it is."""
