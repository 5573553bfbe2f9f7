"""Which columns matter: to trained networks, to training, to pre-training and to its corruption."""
