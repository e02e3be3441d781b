"""The images that the loads send to the model digits. Version 4 answers some of them with NaN."""

import pathlib

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "models/digits"
IMAGE_BYTES = 8 * 8 * 4


def load_flags(model, folder, broken):
    """Writes the images that v4 answers with NaN (`broken`) or the others into `folder`. Returns flags of longshore-load that send them."""
    images = (DIGITS / "traffic.f32").read_bytes()
    broken_rows = {int(line) for line in (DIGITS / "traffic_nan.txt").read_text().split()}
    rows = [row for row in range(len(images) // IMAGE_BYTES) if (row in broken_rows) == broken]
    data = folder / f"{'broken' if broken else 'sound'}.f32"
    data.write_bytes(b"".join(images[row * IMAGE_BYTES:(row + 1) * IMAGE_BYTES] for row in rows))
    return f"--model={model}", "--input=image", "--shape=1,8,8,1", f"--data={data}"
