"""Readers of files of other tools, for `ascend-lock import`.

They read requirements.txt, pyproject.toml, environment.yml and pylock.toml. `config/stack_draft`
decides which of the requirements a stack can have.
"""
