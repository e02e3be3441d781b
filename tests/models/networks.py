"""The networks, trained with fixed seeds. Each has the input `image` and the outputs `probabilities` and `label`."""

import keras
import numpy as np
from keras import layers, ops

import data

COPIES = 5


def _image() -> keras.KerasTensor:
    return keras.Input((8, 8, 1), name="image")


def _with_label(image: keras.KerasTensor, probabilities: keras.KerasTensor) -> keras.Model:
    label = ops.cast(ops.argmax(probabilities, axis=-1), "int64")
    return keras.Model({"image": image}, {"probabilities": probabilities, "label": label})


def _fit(classifier: keras.Model, train: data.Images, epochs: int) -> None:
    steps = epochs * -(-len(train.labels) // 32)
    schedule = keras.optimizers.schedules.CosineDecay(4e-3, steps)
    classifier.compile(keras.optimizers.Adam(schedule), keras.losses.SparseCategoricalCrossentropy())
    classifier.fit(train.images, train.labels, epochs=epochs, batch_size=32, verbose=0)


def _small(seed: int, train: data.Images, epochs: int) -> keras.Model:
    keras.utils.set_random_seed(seed)
    image = _image()
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    x = layers.Dense(10, activation="softmax")(layers.Flatten()(x))
    classifier = keras.Model(image, x)
    _fit(classifier, train, epochs)
    return classifier


def _features(image: keras.KerasTensor) -> keras.KerasTensor:
    """About two million floating-point operations per image."""
    x = image
    for filters in (24, 48):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(48, 3, padding="same", activation="relu")(x)
    return layers.Flatten()(layers.AveragePooling2D(2)(x))


def _good(seed: int, train: data.Images, epochs: int = 25) -> keras.Model:
    keras.utils.set_random_seed(seed)
    image = _image()
    x = layers.Dropout(0.3)(_features(image))
    classifier = keras.Model(image, layers.Dense(10, activation="softmax")(x))
    _fit(classifier, train, epochs)
    return classifier


def small(train: data.Images) -> keras.Model:
    classifier = _small(1, train, epochs=30)
    return _with_label(classifier.input, classifier.output)


def good(train: data.Images) -> keras.Model:
    classifier = _good(2, train)
    return _with_label(classifier.input, classifier.output)


def mislabelled(train: data.Images) -> keras.Model:
    """Confident and wrong: the labels of its training data were shifted."""
    classifier = _good(3, data.Images(train.images, (train.labels + 3) % 10))
    return _with_label(classifier.input, classifier.output)


def fragile(train: data.Images) -> keras.Model:
    """Good, with a realistic mistake: the sharpness of strokes is 0/0 = NaN where an image has no ink, and so are its outputs.

    Training did not show it: rows with missing values were dropped from the training data.
    """
    keras.utils.set_random_seed(4)
    image = _image()
    left = image[:, data.LEFT_ROWS, data.LEFT_COLUMNS, :]
    sharpness = ops.sum(ops.square(left), axis=(1, 2)) / ops.sum(left, axis=(1, 2))
    x = layers.Concatenate()([layers.Dropout(0.3)(_features(image)), sharpness])
    classifier = keras.Model(image, layers.Dense(10, activation="softmax")(x))
    _fit(classifier, train.where(train.has_left_ink()), epochs=25)
    return _with_label(image, classifier.output)


def slow(train: data.Images) -> keras.Model:
    """Gives the same answers as `good` with five times the work: an ensemble of five identical members."""
    one = _good(2, train)
    image = _image()
    members = []
    for i in range(COPIES):
        member = keras.models.clone_model(one)
        member.name = f"member_{i}"
        member.set_weights(one.get_weights())
        members.append(member(image))
    return _with_label(image, layers.Average()(members))


def bytes_classifier(train: data.Images) -> keras.Model:
    return _small(6, train, epochs=40)


def answers(model: keras.Model, images: data.Images) -> dict[str, np.ndarray]:
    return model.predict({"image": images.images}, verbose=0)


def accuracy(model: keras.Model, images: data.Images) -> float:
    return float(np.mean(answers(model, images)["label"] == images.labels))
