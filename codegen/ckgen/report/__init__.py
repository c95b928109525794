"""Reports of what was checked: figures derived from results alone, as JSON, text and HTML."""
