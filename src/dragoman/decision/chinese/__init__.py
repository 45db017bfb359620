"""Rules and tables in Chinese: the words, the conditions and the decisions that differ from English."""
