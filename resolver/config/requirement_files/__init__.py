"""What files of other tools require: requirements.txt, pyproject.toml, environment.yml, pylock.toml.

`config/stack_draft` decides which of it a stack can have.
"""
