"""Reports of what was checked and planned, derived from results alone: JSON, text, HTML, DataFrames."""
