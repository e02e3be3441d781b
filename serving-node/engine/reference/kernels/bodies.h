// How If, Case and While run what lies in their bodies, whichever engine runs them.
//
// The kernels of control.cc decide which body runs, how often, and when it is enough; an engine says how one body is
// run: it derives from Bodies, makes one object per run and gives it to every Call of the run, those within bodies
// included.
//
//   class MyBodies final : public kernels::Bodies {
//     Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) override {
//       return programs_[body].Run(std::move(arguments), room_bytes, *this);
//     }
//   };
#pragma once

#include <chrono>
#include <vector>

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// What bounds a run that loops or calls itself.
struct RunLimits {
  std::chrono::nanoseconds time_max =
      std::chrono::minutes(1);      // Looked at before every body: a single op may take longer.
  int64_t steps_max = 100'000'000;  // Of one While.
  int depth_max = 200;              // Of bodies within bodies.
};

// Belongs to one run, and to one thread at a time.
class Bodies {
 public:
  explicit Bodies(const RunLimits& limits)
      : limits_(limits), deadline_(std::chrono::steady_clock::now() + limits.time_max) {}
  virtual ~Bodies() = default;

  // What the body returns. `body` is a position in the bodies of the whole graph (graph::Node::bodies), and `arguments`
  // has one value for each of its arguments; what the body holds beside them must fit into room_bytes.
  // ResourceExhausted when a limit is reached; else the body's errors.
  Outputs Run(int body, std::vector<Tensor> arguments, size_t room_bytes);

  const RunLimits& limits() const { return limits_; }
  int depth() const { return depth_; }  // Of the bodies within each other that run now.

 private:
  virtual Outputs Compute(int body, std::vector<Tensor> arguments, size_t room_bytes) = 0;

  const RunLimits limits_;
  const std::chrono::steady_clock::time_point deadline_;
  int depth_ = 0;
};

// The error of a kernel with its node in front. Of bodies within bodies the innermost node is named, and the outermost.
tl::unexpected<Error> AtNode(const Error& error, const graph::Node& node, const Bodies* bodies);

}  // namespace longshore::engine::reference::kernels
