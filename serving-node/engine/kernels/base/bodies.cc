#include "serving-node/engine/kernels/base/bodies.h"

namespace longshore::engine::kernels {

Outputs Bodies::Run(int body, std::vector<Tensor> arguments, size_t room_bytes) {
  if (depth_ >= limits_.depth_max)
    return ResourceExhausted("conditions, loops and functions are nested deeper than {} levels", limits_.depth_max);
  if (std::chrono::steady_clock::now() > deadline_) {
    return ResourceExhausted("the run takes longer than the limit of {} ms",
                             std::chrono::duration_cast<std::chrono::milliseconds>(limits_.time_max).count());
  }
  ++depth_;
  auto outputs = Compute(body, std::move(arguments), room_bytes);
  --depth_;
  return outputs;
}

tl::unexpected<Error> AtNode(const Error& error, const graph::Node& node, const Bodies* bodies) {
  const bool is_within = bodies != nullptr && bodies->depth() > 0 && !node.bodies.empty();
  if (is_within && error.message.starts_with("op \"")) return tl::make_unexpected(error);
  return Prefixed(error, fmt::format("op \"{}\" (node \"{}\")", node.op, node.name));
}

}  // namespace longshore::engine::kernels
