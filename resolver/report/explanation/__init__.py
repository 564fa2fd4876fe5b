"""Write an explanation of a conflict, or of a pin, as text, Markdown, HTML and JSON."""
