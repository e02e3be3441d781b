"""Finds the CUDA compiler and the libraries, and builds the measuring programs. A program is built again only if its sources change."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = ["libcudnn.so.9", "libcublasLt.so.13"]

_DEVICE = ["device.cc", "device_kernels.cu", "facts.cc"]
_DNN = ["convolution_plans.cc", "dnn.cc", "shapes.cc"]
# Program -> its sources and the options of its own.
PROGRAMS = {
    "properties": (["properties.cc", *_DEVICE], []),
    "memory": (["memory.cu", *_DEVICE], []),
    "graphs": (["graphs.cu", *_DEVICE], []),
    "completion": (["completion.cu", *_DEVICE], []),
    "capture": (["capture.cc", "capture_probe.cc", "product_calls.cc", *_DNN, *_DEVICE], []),
    "convolutions": (["convolutions.cc", "convolution_runs.cc", "reference.cu", *_DNN, *_DEVICE], []),
    "products": (["products.cc", "product_calls.cc", "reference.cu", *_DNN, *_DEVICE], []),
    "kernels": (["kernels.cu", *_DEVICE], ["-DGPU_FMA=1"]),
    "kernels_without_fma": (["kernels.cu", *_DEVICE], ["-DGPU_FMA=0", "-fmad=false"]),
    "copies": (["copies.cu", *_DEVICE], []),
    "concurrency": (["concurrency.cu", *_DEVICE], []),
    "errors": (["errors.cu", "capture_probe.cc", *_DEVICE], []),
    "priorities": (["priorities.cu", *_DEVICE], []),
}
_NEEDS_LIBRARIES = {"properties", "memory", "capture", "convolutions", "products"}


class ToolchainError(Exception):
    """The compiler or a library is missing, or a program cannot be built."""


def _folders():
    """Folders that may have CUDA: those of the wheels, then those of the system."""
    for base in [*sys.path, *os.environ.get("GPU_FACTS_PACKAGES", "").split(":")]:
        for name in ("nvidia/cu13", "nvidia/cudnn"):
            if base and (pathlib.Path(base) / name).is_dir():
                yield pathlib.Path(base) / name
    yield from (pathlib.Path(folder) for folder in ("/usr/local/cuda", "/usr", "/usr/lib/x86_64-linux-gnu"))


def _find(*names):
    """The first file with one of these names in a folder of _folders()."""
    return next((folder / name for folder in _folders() for name in names if (folder / name).exists()), None)


def library_folders():
    """The folders of the libraries, for LD_LIBRARY_PATH. Raises ToolchainError if one is missing."""
    folders = []
    for library in LIBRARIES:
        path = _find(f"lib/{library}", f"lib64/{library}", library)
        if path is None:
            raise ToolchainError(f"{library} was not found: install nvidia-cudnn-cu13 and nvidia-cublas")
        folders.append(str(path.parent))
    return list(dict.fromkeys(folders))


def find_nvcc():
    on_path = shutil.which("nvcc")
    path = pathlib.Path(on_path) if on_path else _find("bin/nvcc")
    if path is None:
        raise ToolchainError("nvcc was not found: install the CUDA toolkit 13, or nvidia-cuda-nvcc with nvidia-cuda-crt and nvidia-nvvm")
    return path


def _include_folders():
    headers = ("cuda_runtime.h", "cublasLt.h", "cudnn.h")
    found = [_find(f"include/{header}", f"include/x86_64-linux-gnu/{header}") for header in headers]
    return list(dict.fromkeys(str(path.parent) for path in found if path and str(path.parent) != "/usr/include"))


def _write_device_lists(folder):
    """Writes the names of all fields of cudaDeviceProp and of all attributes, as the headers have them."""
    text = _find("include/driver_types.h").read_text()
    body = re.search(r"struct __device_builtin__ cudaDeviceProp\s*\{(.*?)\n\};", text, re.DOTALL)[1]
    hidden = re.compile(r"name|uuid|luid|reserved$|luidDeviceNodeMask|max(Texture|Surface)\w+")  # They identify one card, or are for graphics.
    fields = [name for name in re.findall(r"^\s+[\w ]+?\s(\w+)(?:\[\d+\])?;", body, re.MULTILINE) if not hidden.fullmatch(name)]
    attributes = dict.fromkeys(re.findall(r"\bcudaDevAttr(\w+)\s*=\s*\d+", text))
    names = [name for name in attributes if not re.match(r"Reserved|Max$|Max(Texture|Surface)", name)]
    (folder / "device_fields.inc").write_text("".join(f"GPU_FIELD({name})\n" for name in fields))
    (folder / "device_attributes.inc").write_text("".join(f"GPU_ATTRIBUTE({name})\n" for name in names))


def _digest(*values):
    digest = hashlib.sha256(repr(values).encode())
    for path in sorted(HERE.glob("*.h")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _object(source, options, capability, folder):
    """The path of the compiled source: another one if the source, a header or an option changes."""
    content = (HERE / source).read_text()
    return folder / "objects" / f"{source}-{_digest(content, options, capability)}.o"


def _run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ToolchainError((result.stdout + result.stderr)[-600:])


def _compile(source, options, capability, folder):
    output = _object(source, options, capability, folder)
    if not output.exists():
        _run([find_nvcc(), "-std=c++20", "-O2", f"-arch=sm_{capability}", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", *options, f"-I{ROOT}",
              f"-I{folder}", *(f"-I{found}" for found in _include_folders()), "-c", HERE / source, "-o", output])
    return output


def _link(name, objects, output):
    libraries = []
    if name in _NEEDS_LIBRARIES:
        libraries = [f"-L{found}" for found in library_folders()] + [f"-l:{library}" for library in LIBRARIES]
        libraries += ["-Xlinker", "--allow-shlib-undefined"]
    runtime = _find("lib/libcudart_static.a", "lib64/libcudart_static.a")
    _run([find_nvcc(), *objects, "-o", output, *([f"-L{runtime.parent}"] if runtime else []), *libraries, "-lpthread", "-ldl"])


def build(folder, capability):
    """Builds all programs for this compute capability (90 for 9.0). Returns program -> path, or the reason why it was not built."""
    capability = str(capability)
    sources = sorted({(source, tuple(options)) for files, options in PROGRAMS.values() for source in files})
    objects_of = {name: [_object(source, tuple(options), capability, folder) for source in files] for name, (files, options) in PROGRAMS.items()}
    outputs = {name: folder / "programs" / f"{name}-{_digest([path.name for path in objects])}" for name, objects in objects_of.items()}
    if all(path.exists() for path in outputs.values()):
        return outputs
    for path in (folder / "objects", folder / "programs"):
        path.mkdir(parents=True, exist_ok=True)
    _write_device_lists(folder)

    def attempt(make, *arguments):
        try:
            make(*arguments)
        except ToolchainError as error:
            return str(error)
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = dict(zip(sources, pool.map(lambda source: attempt(_compile, *source, capability, folder), sources)))
        linked = dict(zip(PROGRAMS, pool.map(lambda name: attempt(_link, name, objects_of[name], outputs[name]), PROGRAMS)))
    errors = {name: [compiled[(source, tuple(options))] for source in files if compiled[(source, tuple(options))]]
              for name, (files, options) in PROGRAMS.items()}
    return {name: (errors[name] or [linked[name] or outputs[name]])[0] for name in PROGRAMS}
