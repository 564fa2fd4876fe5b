"""Readers of other tools' files: requirements.txt, pyproject.toml, environment.yml, pylock.toml.

`config/stack_draft` decides which of their requirements a stack can have.
"""
