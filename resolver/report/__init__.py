"""Locks and explanations as files for pip, bash and people. Pure: the same lock gives the same bytes."""
