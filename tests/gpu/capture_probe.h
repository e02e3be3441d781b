// Tries one call at a time while a stream is being captured.
#pragma once

#include <functional>
#include <string>

#include "tests/gpu/device.h"

namespace longshore::gpu {

// What is called. `name` says it in words.
struct Probe {
  std::string name;
  std::function<std::string()> call;  // Returns the name of the error, or "ok".
  bool on_other_thread = false;       // The thread that captures does not make the call itself.
};

// Captures a kernel, the call and a kernel in this mode, and replays the graph. Returns what each of them said: "ok",
// or the error, with "; invalid" if the next launch and the end of the capture then failed with
// StreamCaptureInvalidated.
std::string TryInCapture(const Probe& probe, cudaStreamCaptureMode mode, cudaStream_t stream, int* word);

// "ok", or the error's name without its beginning cudaError.
std::string Short(cudaError_t error);

}  // namespace longshore::gpu
