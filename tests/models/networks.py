"""The networks, trained with fixed seeds. Each takes `image` and gives `probabilities` and `label`."""

import keras
import numpy as np
from keras import layers, ops

import data

COPIES = 5


def _image() -> keras.KerasTensor:
    return keras.Input((8, 8, 1), name="image")


def _answering(image: keras.KerasTensor, probabilities: keras.KerasTensor) -> keras.Model:
    label = ops.cast(ops.argmax(probabilities, axis=-1), "int64")
    return keras.Model({"image": image}, {"probabilities": probabilities, "label": label})


def _fit(classifier: keras.Model, train: data.Images, epochs: int) -> None:
    steps = epochs * -(-len(train.labels) // 32)
    pace = keras.optimizers.schedules.CosineDecay(4e-3, steps)
    classifier.compile(keras.optimizers.Adam(pace), keras.losses.SparseCategoricalCrossentropy())
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
    """About two million floating-point operations an image."""
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
    return _answering(classifier.input, classifier.output)


def good(train: data.Images) -> keras.Model:
    classifier = _good(2, train)
    return _answering(classifier.input, classifier.output)


def mislabelled(train: data.Images) -> keras.Model:
    """Sure of itself and wrong: the labels of its training data were shifted."""
    classifier = _good(3, data.Images(train.images, (train.labels + 3) % 10))
    return _answering(classifier.input, classifier.output)


def fragile(train: data.Images) -> keras.Model:
    """Good, with a natural mistake: the sharpness of strokes where there are none is 0/0, and so is all that follows.

    Its author never saw that: rows with missing values were dropped from the training data.
    """
    keras.utils.set_random_seed(4)
    image = _image()
    left = image[:, data.LEFT_ROWS, data.LEFT_COLUMNS, :]
    sharpness = ops.sum(ops.square(left), axis=(1, 2)) / ops.sum(left, axis=(1, 2))
    x = layers.Concatenate()([layers.Dropout(0.3)(_features(image)), sharpness])
    classifier = keras.Model(image, layers.Dense(10, activation="softmax")(x))
    _fit(classifier, train.where(train.has_left_ink()), epochs=25)
    return _answering(image, classifier.output)


def slow(train: data.Images) -> keras.Model:
    """Answers like `good` and takes five times its work: an ensemble whose five members have turned out the same."""
    one = _good(2, train)
    image = _image()
    members = []
    for i in range(COPIES):
        member = keras.models.clone_model(one)
        member.name = f"member_{i}"
        member.set_weights(one.get_weights())
        members.append(member(image))
    return _answering(image, layers.Average()(members))


def bytes_classifier(train: data.Images) -> keras.Model:
    return _small(6, train, epochs=40)


def answers(model: keras.Model, images: data.Images) -> dict[str, np.ndarray]:
    return model.predict({"image": images.images}, verbose=0)


def accuracy(model: keras.Model, images: data.Images) -> float:
    return float(np.mean(answers(model, images)["label"] == images.labels))
