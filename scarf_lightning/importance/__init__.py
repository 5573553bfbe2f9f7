"""The importance of columns: to trained networks, to training, to pre-training and to its corruption."""
