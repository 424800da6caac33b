"""Views of a tokenizer in the shapes that other libraries' users know. Nothing here needs those libraries."""
