"""Replies judged by people: blinded sheets out, answers in, and how far the annotators agree."""
