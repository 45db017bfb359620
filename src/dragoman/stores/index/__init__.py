"""The search index of shared sources: tantivy and usearch, in shards beside the store."""
