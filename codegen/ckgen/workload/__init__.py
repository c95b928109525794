"""What a model asks of kernels: the products, expert layers and attention of its config.json, as servers shard them."""
