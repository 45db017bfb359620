"""Words that deny, exclude or oppose each other, one file a language: a new language is a new file."""
