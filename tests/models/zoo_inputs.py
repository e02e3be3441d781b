"""Example inputs of the zoo's models: functions of the batch size that return the same numbers at every call.

Row i is the same for every batch size, so that a batch can be compared with its rows one by one.
"""

import numpy as np

Inputs = dict[str, np.ndarray]

WORDS = ("anchor", "berth", "crane", "dock", "eel", "ferry", "gull", "harbour", "island", "jetty")
SENTENCE_WORDS = 12  # The length of padded_words, padded with zeros.
BERT_WORDS = 64
BERT_VOCABULARY = 30522


def _random(row: int) -> np.random.Generator:
    return np.random.default_rng(1000 + row)


def _stack(batch: int, row_of) -> np.ndarray:
    return np.stack([row_of(row) for row in range(batch)])


def images(size: int, brightest: int = 1):
    """Blots of colour with noise, [batch, size, size, 3]. Networks would give the same answer for all images of plain noise."""
    def row_of(row: int) -> np.ndarray:
        random = _random(row)
        blots = random.random((4, 4, 3), dtype=np.float32)
        coarse = np.kron(blots, np.ones((-(-size // 4), -(-size // 4), 1), np.float32))[:size, :size]
        return (0.8 * coarse + 0.2 * random.random((size, size, 3), dtype=np.float32)) * brightest
    return lambda batch: {"image": _stack(batch, row_of).astype(np.float32)}


def jpegs(batch: int) -> Inputs:
    """Files of different sizes."""
    import tensorflow as tf  # Only to encode them.

    def row_of(row: int) -> bytes:
        image = images(48 + 16 * (row % 3), 255)(row + 1)["image"][row].astype(np.uint8)
        return tf.io.encode_jpeg(image, quality=90).numpy()
    return {"image_bytes": np.array([row_of(row) for row in range(batch)], object)}


def sentences(batch: int) -> Inputs:
    """Word ids and a mask; the sentences have different lengths."""
    lengths = [BERT_WORDS - 7 * (row % 8) for row in range(batch)]
    mask = np.stack([np.arange(BERT_WORDS) < length for length in lengths]).astype(np.int32)
    ids = _stack(batch, lambda row: _random(row).integers(1, BERT_VOCABULARY, BERT_WORDS)).astype(np.int32)
    return {"ids": ids * mask, "mask": mask}


def decoder_step(batch: int) -> Inputs:
    """The next token of each row, and the keys and values of five earlier tokens: [batch, layers, heads, earlier, width]."""
    past = _stack(batch, lambda row: _random(row).normal(0, 1, (2, 2, 4, 5, 16))).astype(np.float32)
    token = np.array([_random(row).integers(0, 256) for row in range(batch)], np.int32)
    return {"token": token, "keys": past[:, 0], "values": past[:, 1]}


def padded_words(batch: int) -> Inputs:
    def row_of(row: int) -> np.ndarray:
        words = _random(row).integers(1, 100, SENTENCE_WORDS)
        return np.where(np.arange(SENTENCE_WORDS) < 3 + row % 10, words, 0)
    return {"words": _stack(batch, row_of).astype(np.int32)}


def pixels(batch: int) -> Inputs:
    return {"pixels": _stack(batch, lambda row: _random(row).random(784)).astype(np.float32)}


def customers(batch: int) -> Inputs:
    """A column per feature, [batch, 1]; some words and numbers are outside the vocabularies."""
    def column(value_of, dtype) -> np.ndarray:
        return np.array([[value_of(_random(row))] for row in range(batch)], dtype)
    return {
        "city": column(lambda random: random.choice(["Oslo", "Kiel", "Genoa", "Perth", "Atlantis"]), object),
        "grade": column(lambda random: random.integers(0, 8), np.int64),
        "ship": column(lambda random: f"ship {random.integers(0, 1000)}", object),
        "age": column(lambda random: random.uniform(18, 90), np.float32),
        "income": column(lambda random: random.lognormal(10, 1), np.float32),
        "comment": column(lambda random: " ".join(random.choice(WORDS, 5)).title() + "!", object),
    }


def examples(batch: int) -> Inputs:
    """Serialized tf.Examples, some without the optional features."""
    import tensorflow as tf  # Only for the message.

    def row_of(row: int) -> bytes:
        random = _random(row)
        example = tf.train.Example()
        feature = example.features.feature
        feature["sizes"].float_list.value.extend(random.normal(0, 1, 4))
        feature["tags"].bytes_list.value.extend(word.encode() for word in random.choice(WORDS, row % 4))
        if row % 3:
            feature["count"].int64_list.value.append(int(random.integers(0, 9)))
        return example.SerializeToString()
    return {"examples": np.array([row_of(row) for row in range(batch)], object)}


def words(batch: int) -> Inputs:
    return {"word": np.array([(*WORDS, "zeppelin")[(3 * row) % 11].encode() for row in range(batch)], object)}


def numbers(batch: int) -> Inputs:
    return {"x": _stack(batch, lambda row: _random(row).normal(0, 3, 6)).astype(np.float32)}
