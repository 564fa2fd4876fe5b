"""From a problem and a catalog to a resolution: search, its check, and the engine for hard cases."""
