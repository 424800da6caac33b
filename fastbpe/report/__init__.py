"""What a tokenizer does to texts: figures, and a page that shows them.

figures (gather, and what it calls: arrays in, plain values out)  ->  charts (matplotlib)  ->  page (jinja2)
"""
