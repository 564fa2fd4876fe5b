"""What has happened to locks and facts upstream, as text in two languages and as JSON."""
