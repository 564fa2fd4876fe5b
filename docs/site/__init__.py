"""The documentation as a site: docs/*.md in both languages, and pages made of the code."""
