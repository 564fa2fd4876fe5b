"""The page of a solved grid."""

from resolver.model.matrix import Matrix


def matrix_page(matrix: Matrix) -> str:
    """Soon."""
    return matrix.date
