"""Small models that public reports say other engines got wrong, with what is right."""
