"""The handwritten digits of scikit-learn: 1797 images of 8x8 pixels 0..16, loaded as float32 0..1 of shape [n, 8, 8, 1]."""

import dataclasses

import numpy as np
from sklearn import datasets

TRAIN, GOLDEN = 1000, 200
SEED = 2026

# The area at the left, at half height, which distinguishes a 6 from a 5. Some images have no ink there.
LEFT_ROWS, LEFT_COLUMNS = slice(2, 6), slice(0, 3)


@dataclasses.dataclass
class Images:
    images: np.ndarray
    labels: np.ndarray

    def where(self, keep: np.ndarray) -> "Images":
        return Images(self.images[keep], self.labels[keep])

    def has_left_ink(self) -> np.ndarray:
        return self.images[:, LEFT_ROWS, LEFT_COLUMNS].any(axis=(1, 2, 3))


@dataclasses.dataclass
class Split:
    train: Images
    golden: Images  # All images have ink at the left: a golden set that misses a case.
    traffic: Images


def load() -> Split:
    digits = datasets.load_digits()
    everything = Images((digits.images / 16).astype(np.float32)[..., np.newaxis], digits.target.astype(np.int64))
    random = np.random.default_rng(SEED)
    order = random.permutation(len(everything.labels))
    train, rest = everything.where(order[:TRAIN]), everything.where(order[TRAIN:])
    golden = np.flatnonzero(rest.has_left_ink())[:GOLDEN]
    traffic = random.permutation(np.setdiff1d(np.arange(len(rest.labels)), golden))
    return Split(train, rest.where(golden), rest.where(traffic))
