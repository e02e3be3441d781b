// Runs the bodies of If, Case and While, for any engine.
//
// The kernels of control.cc decide which body runs, how often, and when a loop ends. An engine says how one body runs:
// it derives a class from Bodies, makes one object per run, and passes that object to every Call of the run, including
// the Calls inside bodies.
//
//   class MyBodies final : public kernels::Bodies {
//     Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) override {
//       return programs_[body].Run(std::move(arguments), room_bytes, *this);
//     }
//   };
#pragma once

#include <chrono>
#include <vector>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// The limits of a run with loops or with functions that call each other.
struct RunLimits {
  std::chrono::nanoseconds time_max =
      std::chrono::minutes(1);      // Checked before every body: a single op may take longer.
  int64_t steps_max = 100'000'000;  // The most iterations of one While.
  int depth_max = 200;              // The most levels of bodies within bodies.
};

// Runs bodies and enforces the limits. An object belongs to one run and is used by one thread at a time.
class Bodies {
 public:
  explicit Bodies(const RunLimits& limits)
      : limits_(limits), deadline_(std::chrono::steady_clock::now() + limits.time_max) {}
  virtual ~Bodies() = default;

  // Runs a body and returns its outputs. `body` is an index into the bodies of the whole graph (see
  // graph::Node::bodies); `arguments` has one value for each argument of the body. Everything else that the body
  // allocates must fit into room_bytes. Returns ResourceExhausted if a limit is reached; otherwise the body's own
  // errors.
  Outputs Run(int body, std::vector<Tensor> arguments, size_t room_bytes);

  const RunLimits& limits() const { return limits_; }
  int depth() const { return depth_; }  // How many nested bodies are running.

 private:
  virtual Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) = 0;

  const RunLimits limits_;
  const std::chrono::steady_clock::time_point deadline_;
  int depth_ = 0;
};

// Returns the error of a kernel, prefixed with its op and node. If bodies are nested, only the innermost and the
// outermost node are named.
tl::unexpected<Error> AtNode(const Error& error, const graph::Node& node, const Bodies* bodies);

}  // namespace longshore::engine::kernels
