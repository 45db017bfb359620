"""The laboratory: experiments over labelled sets, metrics with their uncertainty, tables and reports."""
