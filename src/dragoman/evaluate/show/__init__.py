"""Presentation of results: tables for the terminal and for files, figures, the page, runs joined and compared."""
