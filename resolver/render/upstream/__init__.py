"""What became of locks and facts upstream, as text in two languages and as JSON."""
