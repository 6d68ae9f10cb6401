"""The nouns that stages share: tensors, number formats, graphs, statistics."""
