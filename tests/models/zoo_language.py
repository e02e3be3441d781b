"""Networks for sequences: an encoder, a step of a decoder, and recurrent networks."""

import pathlib

import keras
import tensorflow as tf
from keras import layers

import zoo_inputs


def _encoder_layer(x, attend, heads: int):
    width = x.shape[-1]
    attended = layers.MultiHeadAttention(heads, width // heads)(x, x, attention_mask=attend)
    x = layers.LayerNormalization(epsilon=1e-12)(x + attended)
    wide = layers.Dense(4 * width, activation="gelu")(x)
    return layers.LayerNormalization(epsilon=1e-12)(x + layers.Dense(width)(wide))


class WithPositions(layers.Layer):
    """Adds a learned vector for each position."""

    def build(self, shape):
        self.vectors = self.add_weight(shape=shape[1:], initializer="random_normal", name="positions")

    def call(self, x):
        return x + self.vectors


def bert_base(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(30)
    ids = keras.Input((zoo_inputs.BERT_WORDS,), dtype="int32", name="ids")
    mask = keras.Input((zoo_inputs.BERT_WORDS,), dtype="int32", name="mask")
    x = layers.Embedding(zoo_inputs.BERT_VOCABULARY, 768, embeddings_initializer="random_normal")(ids)
    x = layers.LayerNormalization(epsilon=1e-12)(WithPositions()(x))
    attend = keras.ops.expand_dims(keras.ops.cast(mask, "bool"), 1)
    for _ in range(12):
        x = _encoder_layer(x, attend, heads=12)
    pooled = layers.Dense(768, activation="tanh")(x[:, 0])
    model = keras.Model({"ids": ids, "mask": mask}, {"sequence": x, "pooled": pooled})
    model.export(str(path), verbose=False)


class Decoder(tf.Module):
    """A decoder with two layers of four heads. Each step returns keys and values, which are inputs of the next step."""

    LAYERS, HEADS, WIDTH, VOCABULARY = 2, 4, 64, 256

    def __init__(self):
        super().__init__()
        random = tf.random.Generator.from_seed(31)

        def weights(*shape):
            return tf.Variable(random.normal(shape, stddev=shape[0] ** -0.5))
        self.embedding = tf.Variable(random.normal([self.VOCABULARY, self.WIDTH]))
        self.blocks = [{"qkv": weights(self.WIDTH, 3 * self.WIDTH), "out": weights(self.WIDTH, self.WIDTH),
                        "up": weights(self.WIDTH, 4 * self.WIDTH), "down": weights(4 * self.WIDTH, self.WIDTH)}
                       for _ in range(self.LAYERS)]

    @staticmethod
    def normalized(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5)

    def attended(self, block, x, keys, values):
        """The output of the attention heads, and keys and values with those of this step appended."""
        shape = [-1, self.HEADS, 1, self.WIDTH // self.HEADS]
        query, key, value = (tf.reshape(part, shape) for part in tf.split(self.normalized(x) @ block["qkv"], 3, -1))
        keys, values = tf.concat([keys, key], 2), tf.concat([values, value], 2)
        scores = tf.nn.softmax(tf.einsum("bhqd,bhkd->bhqk", query, keys) / shape[-1] ** 0.5)
        seen = tf.einsum("bhqk,bhkd->bhqd", scores, values)
        return tf.reshape(seen, [-1, self.WIDTH]) @ block["out"], keys, values

    @tf.function(input_signature=[
        tf.TensorSpec([None], tf.int32, name="token"),
        tf.TensorSpec([None, LAYERS, HEADS, None, WIDTH // HEADS], tf.float32, name="keys"),
        tf.TensorSpec([None, LAYERS, HEADS, None, WIDTH // HEADS], tf.float32, name="values")])
    def step(self, token, keys, values):
        x = tf.gather(self.embedding, token)
        grown = []
        for index, block in enumerate(self.blocks):
            seen, *both = self.attended(block, x, keys[:, index], values[:, index])
            grown.append(both)
            x += seen
            x += tf.nn.gelu(self.normalized(x) @ block["up"], approximate=True) @ block["down"]
        logits = tf.matmul(self.normalized(x), self.embedding, transpose_b=True)
        return {"logits": logits, "next": tf.argmax(logits, -1),
                "keys": tf.stack([key for key, _ in grown], 1), "values": tf.stack([value for _, value in grown], 1)}


def gpt_step(path: pathlib.Path) -> None:
    decoder = Decoder()
    tf.saved_model.save(decoder, str(path), signatures=decoder.step)


def _recurrent(path: pathlib.Path, layer: layers.Layer) -> None:
    words = keras.Input((None,), dtype="int32", name="words")
    wide = keras.initializers.RandomNormal(stddev=1.0)  # Keras' default values are so small that all sentences get nearly the same answer.
    x = layers.Embedding(100, 16, mask_zero=True, embeddings_initializer=wide)(words)
    probabilities = layers.Dense(4, activation="softmax")(layer(x))
    model = keras.Model({"words": words}, {"probabilities": probabilities})
    model.export(str(path), verbose=False)


def lstm(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(32)
    _recurrent(path, layers.LSTM(24))


def gru(path: pathlib.Path) -> None:
    keras.utils.set_random_seed(33)
    _recurrent(path, layers.Bidirectional(layers.GRU(12)))
