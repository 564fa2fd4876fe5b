"""Readers of files of other tools, for `ascend-lock import`.

They read requirements.txt, pyproject.toml, environment.yml and pylock.toml. `config/conda_names`
decides which projects the packages of conda are, and `config/stack_draft` which of the requirements
a stack can have.
"""
