"""Three small models, and copies of each with one fault: what goes wrong between a notebook and a SavedModel.

Shadow rollouts are tested with them: each fault must be found before the copy gets any weight. The kinds of faults follow catalogues of
faults and of mutation operators for neural networks (N. Humbatova et al., "Taxonomy of Real Faults in Deep Learning Systems", ICSE 2020, and
"DeepCrime: Mutation Testing of Deep Learning Systems based on Real Faults", ISSTA 2021), and what conversions to SavedModels get wrong.

    MUTANTS["digits: rows transposed"].save(folder)       # writes folder/saved_model.pb and its variables
    BASES["digits"].save(folder)                          # the model without a fault
"""

import dataclasses
import pathlib
import typing

import numpy as np
import tensorflow as tf

import data

SEED = 20261126
HIDDEN, CLASSES = 32, 10
WORDS = ["good", "bad", "fast", "slow", "cheap", "dear", "warm", "cold", "not", "very", "The", "a", "is", "was", "food", "room", "staff", "bus"]
MOODS = ["praise", "complaint", "question", "other"]
CATEGORIES = [f"c{i:03}" for i in range(100)]

Tensors = dict[str, tf.Tensor]


def _same(value):
    return value


@dataclasses.dataclass
class Variant:
    """A base model with other parts. Each part has the default of the base."""
    base: str
    parts: dict[str, typing.Any] = dataclasses.field(default_factory=dict)

    def save(self, folder: pathlib.Path) -> None:
        module = _MODULES[self.base](**self.parts)
        tf.saved_model.save(module, str(folder), signatures={"serving_default": module.serve})


# ------------------------------------------------------------------------------------------------ digits


def train_digits(images: np.ndarray, labels: np.ndarray, steps: int = 300) -> dict[str, np.ndarray]:
    """Trains a network with one hidden layer by gradient descent; always returns the same weights for the same images."""
    random = np.random.default_rng(SEED)
    x, y = images.reshape(len(images), -1), np.eye(CLASSES)[labels]
    w1, w2 = random.normal(0, 0.2, (x.shape[1], HIDDEN)), random.normal(0, 0.2, (HIDDEN, CLASSES))
    b1, b2 = np.zeros(HIDDEN), np.zeros(CLASSES)
    for _ in range(steps):
        hidden = np.maximum(x @ w1 + b1, 0)
        scores = hidden @ w2 + b2
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (scores / scores.sum(axis=1, keepdims=True) - y) / len(x)
        back = (error @ w2.T) * (hidden > 0)
        for weights, gradient in ((w2, hidden.T @ error), (b2, error.sum(0)), (w1, x.T @ back), (b1, back.sum(0))):
            weights -= 1.0 * gradient
    return {name: value.astype(np.float32) for name, value in {"w1": w1, "b1": b1, "w2": w2, "b2": b2}.items()}


class Digits(tf.Module):
    """image float32 [?, 8, 8, 1] -> probabilities float32 [?, 10], label int64 [?]."""

    def __init__(self, weights=_same, prepare=_same, activate=tf.nn.relu, hidden=_same, head=tf.nn.softmax, outputs=_same):
        super().__init__()
        self.weights = {name: tf.Variable(value, name=name) for name, value in weights(dict(_digits_weights())).items()}
        self.prepare, self.activate, self.hidden, self.head, self.outputs = prepare, activate, hidden, head, outputs

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32, name="image")])
    def serve(self, image: tf.Tensor) -> Tensors:
        x = tf.reshape(self.prepare(image), [-1, 64])
        x = self.hidden(self.activate(x @ self.weights["w1"] + self.weights["b1"]))
        probabilities = self.head(x @ self.weights["w2"] + self.weights["b2"])
        return self.outputs({"probabilities": probabilities, "label": tf.argmax(probabilities, axis=-1)})


_trained: dict[str, dict[str, np.ndarray]] = {}


def _digits_weights(kind: str = "good") -> dict[str, np.ndarray]:
    if kind not in _trained:
        train = data.load().train
        few = {"good": len(train.labels), "few images": 60}[kind]
        _trained[kind] = train_digits(train.images[:few], train.labels[:few])
    return _trained[kind]


def _change(name: str, change: typing.Callable[[np.ndarray], np.ndarray]):
    return lambda weights: {**weights, name: change(weights[name]).astype(np.float32)}


def _noisy(value: np.ndarray) -> np.ndarray:
    return value + np.random.default_rng(SEED).normal(0, 0.05, value.shape)


def _int8(value: np.ndarray) -> np.ndarray:
    scale = np.abs(value).max() / 127
    return np.round(value / scale) * scale


def _pruned(value: np.ndarray) -> np.ndarray:
    return np.where(np.abs(value) < np.quantile(np.abs(value), 0.3), 0, value)


def _without(index: int):
    def change(value: np.ndarray) -> np.ndarray:
        value = value.copy()
        value[index] = 0
        return value
    return change


def _swapped(value: np.ndarray) -> np.ndarray:
    value = value.copy()
    value[[0, 1]] = value[[1, 0]]
    return value


def _bfloat16(value: np.ndarray) -> np.ndarray:
    return tf.cast(tf.cast(value, tf.bfloat16), tf.float32).numpy()


def _replace(name: str, change: typing.Callable[[tf.Tensor], tf.Tensor]):
    return lambda outputs: {**outputs, name: change(outputs[name])}


def _relabel(labels: list[int]):
    def outputs(of: Tensors) -> Tensors:
        probabilities = tf.gather(of["probabilities"], labels, axis=1)
        return {"probabilities": probabilities, "label": tf.argmax(probabilities, axis=-1)}
    return outputs


def _rare_rows(image: tf.Tensor, one_in: int) -> tf.Tensor:
    """True for about one row in so many, by the pixels, so that an input always has the same answer."""
    key = tf.strings.to_hash_bucket_fast(tf.strings.reduce_join(tf.strings.as_string(tf.reshape(image, [-1, 64])), axis=1), one_in)
    return tf.equal(key, 0)


def _rare_nan(image: tf.Tensor) -> tf.Tensor:
    return tf.where(_rare_rows(image, 10_000)[:, tf.newaxis, tf.newaxis, tf.newaxis], np.float32("nan"), image)


def _rare_error(image: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([tf.debugging.assert_equal(tf.reduce_any(_rare_rows(image, 2_000)), False, message="unexpected image")]):
        return tf.identity(image)


def _slow(x: tf.Tensor) -> tf.Tensor:
    """Adds work that depends on the input, so that nobody can compute it ahead; the result is not changed."""
    matrix = np.full((200, 200), 1 / 200, np.float32)
    work = matrix * tf.reduce_mean(x)
    for _ in range(20):
        work = tf.linalg.matmul(work, matrix)
    return x + 1e-30 * tf.reduce_mean(work)


def _batch_normalized(x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [0])
    return tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)


_DIGITS = {
    # Weights.
    "weights with noise": {"weights": _change("w1", _noisy)},
    "weights rounded to int8": {"weights": _change("w1", _int8)},
    "weights rounded to bfloat16": {"weights": _change("w2", _bfloat16)},
    "small weights pruned": {"weights": _change("w1", _pruned)},
    "a layer scaled by 1.05": {"weights": _change("w2", lambda w: 1.05 * w)},
    "one neuron missing": {"weights": _change("w2", _without(7))},
    "one pixel ignored": {"weights": _change("w1", _without(28))},
    "two neurons swapped": {"weights": _change("w2", _swapped)},
    "one sign wrong": {"weights": _change("w2", lambda w: w * np.where(np.arange(CLASSES) == 4, -1, 1))},
    "biases missing": {"weights": _change("b1", np.zeros_like)},
    "classes' biases missing": {"weights": _change("b2", np.zeros_like)},
    "a layer not restored": {"weights": _change("w2", lambda w: np.random.default_rng(1).normal(0, 0.2, w.shape))},
    "trained on few images": {"weights": lambda _: _digits_weights("few images")},
    # The network.
    "tanh instead of relu": {"activate": tf.nn.tanh},
    "leaky relu instead of relu": {"activate": lambda x: tf.nn.leaky_relu(x, 0.1)},
    "no activation": {"activate": _same},
    "dropout left on": {"hidden": lambda x: tf.nn.dropout(x, 0.2)},
    "batch normalization in training mode": {"hidden": _batch_normalized},
    "no softmax": {"head": _same},
    "sigmoid instead of softmax": {"head": tf.nn.sigmoid},
    "softmax over the rows": {"head": lambda x: tf.nn.softmax(x, axis=0)},
    "softmax with a temperature": {"head": lambda x: tf.nn.softmax(x / 1.5)},
    "logarithms of probabilities": {"head": tf.nn.log_softmax},
    # Preparation of the input.
    "pixels not scaled": {"prepare": lambda x: 16 * x},
    "pixels centred": {"prepare": lambda x: 2 * x - 1},
    "black and white exchanged": {"prepare": lambda x: 1 - x},
    "rows transposed": {"prepare": lambda x: tf.transpose(x, [0, 2, 1, 3])},
    "mirrored": {"prepare": lambda x: tf.reverse(x, [2])},
    "shifted by one pixel": {"prepare": lambda x: tf.roll(x, 1, 1)},
    "pixels rounded": {"prepare": tf.round},
    "pixels clipped": {"prepare": lambda x: tf.minimum(x, 0.9)},
    "border lost": {"prepare": lambda x: tf.pad(x[:, 1:-1, 1:-1], [[0, 0], [1, 1], [1, 1], [0, 0]])},
    # Labels and the signature.
    "two labels swapped": {"outputs": _relabel([0, 1, 2, 3, 4, 5, 6, 9, 8, 7])},
    "labels rotated": {"outputs": _relabel([9, 0, 1, 2, 3, 4, 5, 6, 7, 8])},
    "labels from one": {"outputs": _replace("label", lambda label: label + 1)},
    "label of the least likely class": {"outputs": lambda of: {**of, "label": tf.argmin(of["probabilities"], axis=-1)}},
    "label of type int32": {"outputs": _replace("label", lambda label: tf.cast(label, tf.int32))},
    "label as text": {"outputs": _replace("label", tf.strings.as_string)},
    "probabilities of type float64": {"outputs": _replace("probabilities", lambda p: tf.cast(p, tf.float64))},
    "probabilities with another dimension": {"outputs": _replace("probabilities", lambda p: p[:, :, tf.newaxis])},
    "a class too many": {"outputs": _replace("probabilities", lambda p: tf.pad(p, [[0, 0], [0, 1]]))},
    "output missing": {"outputs": lambda of: {"probabilities": of["probabilities"]}},
    "output renamed": {"outputs": lambda of: {"probabilities": of["probabilities"], "labels": of["label"]}},
    "output added": {"outputs": lambda of: {**of, "debug": of["label"]}},
    # Single inputs, and time.
    "NaN for one row in 10,000": {"prepare": _rare_nan},
    "error for one row in 2,000": {"prepare": _rare_error},
    "slower": {"hidden": _slow},
}

# ------------------------------------------------------------------------------------------------ texts


class Texts(tf.Module):
    """text string [?] -> scores float32 [?, 4], mood string [?]."""

    def __init__(self, clean=None, words=tuple(WORDS), split=None, weigh=_same, moods=tuple(MOODS), say=_same, pool=tf.reduce_sum):
        super().__init__()
        self.table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer([word.lower() for word in words], list(range(len(words))), tf.string, tf.int64), 3)
        random = np.random.default_rng(SEED)
        self.weights = tf.Variable(weigh(random.normal(0, 1, (len(WORDS) + 3, len(MOODS))).astype(np.float32)))
        self.moods = tf.constant(moods)
        self.clean = clean or (lambda text: tf.strings.regex_replace(tf.strings.lower(text), "[.,!?]", ""))
        self.split, self.say, self.pool = split or tf.strings.split, say, pool

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text: tf.Tensor) -> Tensors:
        ids = self.table.lookup(self.split(self.clean(text)).to_tensor(""))
        scores = self.pool(tf.gather(self.weights, ids), axis=1)
        return {"scores": scores, "mood": self.say(tf.gather(self.moods, tf.argmax(scores, axis=-1)))}


_TEXTS = {
    "capitals kept": {"clean": lambda text: tf.strings.regex_replace(text, "[.,!?]", "")},
    "punctuation kept": {"clean": tf.strings.lower},
    "words split at commas": {"split": lambda text: tf.strings.split(text, ",")},
    "vocabulary shifted": {"words": (*WORDS[1:], WORDS[0])},
    "a word missing": {"words": (*WORDS[:3], "zzz", *WORDS[4:])},
    "vocabulary of the training set's order": {"words": tuple(sorted(WORDS, key=str.lower))},
    "texts cut": {"clean": lambda text: tf.strings.substr(tf.strings.lower(text), 0, 12)},
    "mean instead of sum": {"pool": tf.reduce_mean},
    "moods in another order": {"moods": ("complaint", "praise", "question", "other")},
    "moods in capitals": {"say": tf.strings.upper},
    "moods with a space": {"say": lambda mood: tf.strings.join([mood, " "])},
    "one weight wrong": {"weigh": lambda w: w + np.float32(0.5) * (np.arange(w.size).reshape(w.shape) == 5)},
}

# ------------------------------------------------------------------------------------------------ prices


class Prices(tf.Module):
    """age int64 [?], price float32 [?], category string [?] -> score float64 [?], embedding float32 [?, 8], box float32 [?, 4]."""

    def __init__(self, ages=_same, prices=tf.math.log1p, categories=tuple(CATEGORIES), unknown=-1, score=_same, embed=None, box=_same):
        super().__init__()
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(list(categories), list(range(len(categories))), tf.string, tf.int64), unknown)
        random = np.random.default_rng(SEED)
        self.vectors = tf.Variable(random.normal(0, 1, (len(CATEGORIES) + 1, 8)).astype(np.float32))
        self.ages, self.prices, self.score, self.box = ages, prices, score, box
        self.embed = embed or (lambda x: tf.math.l2_normalize(x, axis=1))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="age"), tf.TensorSpec([None], tf.float32, name="price"),
                                  tf.TensorSpec([None], tf.string, name="category")])
    def serve(self, age: tf.Tensor, price: tf.Tensor, category: tf.Tensor) -> Tensors:
        row = tf.gather(self.vectors, self.table.lookup(category) + 1)
        years = tf.cast(self.ages(age), tf.float32) / 100
        x = row * (1 + self.prices(price))[:, tf.newaxis] + years[:, tf.newaxis]
        score = self.score(tf.cast(tf.reduce_sum(x, axis=1), tf.float64) / 3)
        left, top = tf.math.sigmoid(x[:, 0]), tf.math.sigmoid(x[:, 1])
        box = self.box(tf.stack([left, top, left + tf.math.sigmoid(x[:, 2]), top + tf.math.sigmoid(x[:, 3])], axis=1))
        return {"score": score, "embedding": self.embed(x), "box": box}


_PRICES = {
    "prices in cents": {"prices": lambda price: tf.math.log1p(100 * price)},
    "logarithm of another base": {"prices": lambda price: tf.math.log1p(price) / np.float32(np.log(10))},
    "one category unknown": {"categories": (*CATEGORIES[:41], "c41", *CATEGORIES[42:])},
    "another default category": {"unknown": 0},
    "ages above 65 cut": {"ages": lambda age: tf.minimum(age, 65)},
    "ages in decades": {"ages": lambda age: age // 10 * 10},
    "score rounded": {"score": lambda score: tf.round(10 * score) / 10},
    "score of the other sign": {"score": lambda score: -score},
    "embedding not normalized": {"embed": _same},
    "one dimension of the embedding lost": {"embed": lambda x: tf.math.l2_normalize(x * [1, 1, 1, 0, 1, 1, 1, 1], axis=1)},
    "embedding in another order": {"embed": lambda x: tf.math.l2_normalize(tf.reverse(x, [1]), axis=1)},
    "box as width and height": {"box": lambda box: tf.concat([box[:, :2], box[:, 2:] - box[:, :2]], axis=1)},
    "box with x and y exchanged": {"box": lambda box: tf.gather(box, [1, 0, 3, 2], axis=1)},
    "box of one pixel more": {"box": lambda box: box + 1 / 224},
}

_MODULES = {"digits": Digits, "texts": Texts, "prices": Prices}
BASES = {base: Variant(base) for base in _MODULES}
MUTANTS = {f"{base}: {name}": Variant(base, parts)
           for base, variants in (("digits", _DIGITS), ("texts", _TEXTS), ("prices", _PRICES)) for name, parts in variants.items()}
# Its answers are random, as those of a model whose dropout is meant to stay on, so it differs from itself.
RANDOM = Variant("digits", {"hidden": lambda x: x * tf.where(tf.random.uniform(tf.shape(x)[:1]) < 0.03, 0.0, 1.0)[:, tf.newaxis]})

# How the outputs of a base are compared: `rollout.shadow.compare` of its Model.
RULES = {
    "digits": [{"output": "probabilities", "measure": "Top1", "rows": 0.99}, {"output": "probabilities", "measure": "Within", "rows": 0.99},
               {"output": "label", "measure": "Equal", "rows": 0.99}],
    "texts": [{"output": "scores", "measure": "Within", "rows": 0.99}, {"output": "mood", "measure": "Equal", "rows": 0.99}],
    "prices": [{"output": "score", "measure": "Within", "rows": 0.998}, {"output": "embedding", "measure": "Cosine", "rows": 0.99},
               {"output": "embedding", "measure": "Within", "rows": 0.99}, {"output": "box", "measure": "Within", "rows": 0.99}],
}


def inputs(base: str, rows: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws the inputs of one request."""
    if base == "digits":
        images = data.load().traffic.images
        dimmed = images[random.integers(0, len(images), rows)] * random.uniform(0.8, 1, (rows, 1, 1, 1))
        return {"image": dimmed.astype(np.float32)}
    if base == "texts":
        ends = np.array([".", "!", "?", ",", "", "", ""])
        texts = [" ".join(random.choice(WORDS) + random.choice(ends) for _ in range(random.integers(2, 9))) for _ in range(rows)]
        return {"text": np.array(texts, dtype=object)}
    known = random.random(rows) < 0.9
    categories = np.where(known, random.choice(CATEGORIES, rows), "new")
    return {"age": random.integers(16, 90, rows), "price": random.lognormal(3, 1, rows).astype(np.float32), "category": categories.astype(object)}
