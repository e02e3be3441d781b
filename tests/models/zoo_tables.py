"""Models for numbers and words: preprocessing in the graph, tf.Examples, TensorFlow 1, branches and loops."""

import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import zoo_inputs


def mlp(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(40)
    pixels = keras.Input((784,), name="pixels")
    x = layers.Dense(512, activation="relu")(pixels)
    x = layers.Dense(512, activation="relu")(x)
    probabilities = layers.Dense(10, activation="softmax")(x)
    keras.Model({"pixels": pixels}, {"probabilities": probabilities}).export(str(path), verbose=False)


def _crowd() -> dict[str, np.ndarray]:
    return zoo_inputs.customers(200)


def _wide(inputs: dict) -> list:
    """One-hot and multi-hot encodings of the categories."""
    city = layers.StringLookup(vocabulary=["Oslo", "Kiel", "Genoa", "Perth"], output_mode="one_hot")(inputs["city"])
    grade = layers.IntegerLookup(vocabulary=[1, 2, 3, 5], num_oov_indices=1)(inputs["grade"])
    ship = layers.Hashing(num_bins=16)(inputs["ship"])
    age = layers.Discretization(bin_boundaries=[25.0, 40.0, 65.0])(inputs["age"])
    sizes = ((grade, 5), (ship, 16), (age, 4))
    return [city, *(layers.CategoryEncoding(size, output_mode="multi_hot")(index) for index, size in sizes)]


def _deep(inputs: dict) -> list:
    """Dense features: a normalised number, and the embedded words of a comment."""
    income = layers.Normalization(axis=-1)
    income.adapt(_crowd()["income"])
    vectorization = layers.TextVectorization(vocabulary=list(zoo_inputs.WORDS[:8]), output_sequence_length=6)
    comment = vectorization(inputs["comment"])
    words = layers.GlobalAveragePooling1D()(layers.Embedding(10, 8)(comment))
    return [income(inputs["income"]), words]


def wide_deep(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(41)
    types = {"city": "string", "grade": "int64", "ship": "string", "age": "float32", "income": "float32",
             "comment": "string"}
    inputs = {name: keras.Input((1,), dtype=dtype, name=name) for name, dtype in types.items()}
    wide, deep = layers.Concatenate()(_wide(inputs)), layers.Concatenate()(_deep(inputs))
    for width in (32, 16):
        deep = layers.Dense(width, activation="relu")(deep)
    score = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([wide, deep]))
    keras.Model(inputs, {"score": score}).export(str(path), verbose=False)


class FromExamples(tf.Module):
    """Parses tf.Examples: dense features, one of them with a default, and a sparse one whose words are hashed and summed."""

    BUCKETS = 32

    def __init__(self):
        super().__init__()
        random = tf.random.Generator.from_seed(42)
        self.tag_weights = tf.Variable(random.normal([self.BUCKETS, 3]))
        self.weights = tf.Variable(random.normal([5, 3]))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        features = tf.io.parse_example(examples, {
            "sizes": tf.io.FixedLenFeature([4], tf.float32),
            "count": tf.io.FixedLenFeature([1], tf.int64, default_value=[2]),
            "tags": tf.io.VarLenFeature(tf.string),
        })
        tags = tf.sparse.to_dense(features["tags"], default_value="")
        known = tf.cast(tf.not_equal(tags, ""), tf.float32)[..., tf.newaxis]
        buckets = tf.strings.to_hash_bucket_fast(tags, self.BUCKETS)
        of_tags = tf.reduce_sum(tf.gather(self.tag_weights, buckets) * known, 1)
        dense = tf.concat([features["sizes"], tf.cast(features["count"], tf.float32)], -1)
        return {"scores": tf.nn.softmax(dense @ self.weights + of_tags), "count": features["count"]}


def parse_example(path: pathlib.Path) -> None:
    served = FromExamples()
    tf.saved_model.save(served, str(path), signatures=served.serve)


def tf1_table(path: pathlib.Path) -> None:
    v1 = tf.compat.v1
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), v1.Session() as session:
        vocabulary = pathlib.Path(folder) / "vocabulary.txt"
        vocabulary.write_text("\n".join(zoo_inputs.WORDS) + "\n")
        asset = tf.constant(str(vocabulary), name="vocabulary_file")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                          tf.lookup.TextFileIndex.LINE_NUMBER), num_oov_buckets=2)
        word = v1.placeholder(tf.string, [None], name="word")
        random = np.random.default_rng(43)
        vectors, weights = (
            v1.get_variable(name, initializer=random.normal(size=size).astype(np.float32), use_resource=False)
            for name, size in (("vectors", (12, 8)), ("weights", (8, 3))))
        index = table.lookup(word)
        scores = tf.nn.softmax(tf.tanh(tf.gather(vectors, index)) @ weights, name="scores")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        signature = v1.saved_model.predict_signature_def({"word": word}, {"index": index, "scores": scores})
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer(),
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))
        builder.save()


class Branches(tf.Module):
    """A loop that shrinks large values at most 20 times, followed by one of two branches."""

    def __init__(self):
        super().__init__()
        self.shift = tf.Variable(tf.random.Generator.from_seed(44).normal([6]))

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, name="x")])
    def serve(self, x):
        def shrink(rounds, y):
            return rounds + 1, tf.cond(tf.reduce_max(y) > 4, lambda: y / 2, lambda: y * 0.75)
        rounds, y = tf.while_loop(lambda n, y: (n < 20) & (tf.reduce_max(tf.abs(y)) > 1), shrink, (0, x + self.shift))
        y = tf.cond(tf.reduce_mean(y) > 0, lambda: tf.exp(y), lambda: y * self.shift)
        return {"y": y, "rounds": tf.fill([tf.shape(x)[0]], rounds)}


def branches(path: pathlib.Path) -> None:
    served = Branches()
    tf.saved_model.save(served, str(path), signatures=served.serve)
