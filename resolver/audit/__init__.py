"""What has happened on the indexes since locks and facts were written. Changes nothing."""
