// If, Case and While: decide which body runs, and when a loop ends.
#include "serving-node/engine/kernels/base/bodies.h"
#include "serving-node/engine/kernels/control/families.h"

namespace longshore::engine::kernels::control {

namespace {

// TensorFlow's rule: a boolean scalar is its own value, another number is true if it is not zero, and a string if it is
// not empty. A tensor of higher rank is true if it has elements.
Result<bool> IsTrue(const Tensor& condition) {
  if (condition.rank() > 0) return condition.elements() > 0;
  switch (condition.type()) {
    case DType::kBool: return condition.values<bool>()[0];
    case DType::kFloat: return condition.values<float>()[0] != 0;
    case DType::kDouble: return condition.values<double>()[0] != 0;
    case DType::kInt32: return condition.values<int32_t>()[0] != 0;
    case DType::kInt64: return condition.values<int64_t>()[0] != 0;
    case DType::kUint8: return condition.values<uint8_t>()[0] != 0;
    case DType::kInt8: return condition.values<int8_t>()[0] != 0;
    case DType::kInt16: return condition.values<int16_t>()[0] != 0;
    case DType::kString: return !condition.values<std::string>()[0].empty();
    default: return InvalidArgument("the condition has the unsupported type {}", DTypeName(condition.type()));
  }
}

// Returns InvalidArgument unless the outputs have the types that the node declares.
Status CheckTypes(const Call& call, const char* attribute, const std::vector<Tensor>& outputs) {
  const auto* types = call.attributes().Find(attribute);
  if (types == nullptr || types->value_case() != tensorflow::AttrValue::kList) return {};
  if (types->list().type_size() != static_cast<int>(outputs.size()))
    return InvalidArgument("a branch returns {} values instead of {}", outputs.size(), types->list().type_size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto wanted = static_cast<DType>(types->list().type(static_cast<int>(i)));
    if (outputs[i].type() == DType::kVariant) continue;  // A list, which may stand for the flow value of a TensorArray.
    if (outputs[i].type() != wanted)
      return InvalidArgument("a branch returns {} as output {} instead of {}", DTypeName(outputs[i].type()), i,
                             DTypeName(wanted));
  }
  return {};
}

Outputs RunBranch(const Call& call, size_t branch) {
  if (call.bodies == nullptr || branch >= call.node.bodies.size())
    return FailedPrecondition("branch {} does not exist", branch);
  std::vector<Tensor> arguments(call.inputs.begin() + 1, call.inputs.end());
  ASSIGN_OR_RETURN(auto outputs, call.bodies->Run(call.node.bodies[branch], std::move(arguments), call.room_bytes));
  RETURN_IF_ERROR(CheckTypes(call, "Tout", outputs));
  return outputs;
}

Outputs If(const Call& call) {
  ASSIGN_OR_RETURN(const bool holds, IsTrue(call.in(0)));
  return RunBranch(call, holds ? 0 : 1);
}

// An index out of range selects the last branch.
Outputs Case(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t index, IntOf(call.in(0), "branch_index"));
  const auto branches = static_cast<int64_t>(call.node.bodies.size());
  return RunBranch(call, static_cast<size_t>(index < 0 || index >= branches ? branches - 1 : index));
}

// The bytes of the loop variables, without those that still share a buffer with the inputs of the loop.
size_t OwnBytes(const Call& call, const std::vector<Tensor>& values) {
  size_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].data() != call.in(i).data()) sum += HeldBytes({&values[i], 1});
  }
  return sum;
}

Status CheckStep(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
  if (before.size() != after.size())
    return InvalidArgument("the loop's body returns {} values instead of {}", after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].type() != after[i].type()) {
      return InvalidArgument("the loop's body returns {} as output {} instead of {}", DTypeName(after[i].type()), i,
                             DTypeName(before[i].type()));
    }
  }
  return {};
}

Outputs While(const Call& call) {
  if (call.bodies == nullptr || call.node.bodies.size() != 2)
    return FailedPrecondition("the loop has no condition or no body");
  std::vector<Tensor> values(call.inputs.begin(), call.inputs.end());
  for (int64_t step = 0; step <= call.bodies->limits().steps_max; ++step) {
    const size_t own_bytes = OwnBytes(call, values);
    if (own_bytes > call.LeftBytes()) {
      return ResourceExhausted(
          "the loop variables need {} bytes after {} steps, but only {} bytes are left of the run's memory", own_bytes,
          step, call.LeftBytes());
    }
    const size_t room_bytes = call.room_bytes - own_bytes;
    ASSIGN_OR_RETURN(const auto condition, call.bodies->Run(call.node.bodies[0], values, room_bytes));
    if (condition.size() != 1)
      return InvalidArgument("the condition returns {} values instead of one", condition.size());
    ASSIGN_OR_RETURN(const bool goes_on, IsTrue(condition[0]));
    if (!goes_on) return values;
    ASSIGN_OR_RETURN(auto next, call.bodies->Run(call.node.bodies[1], values, room_bytes));
    RETURN_IF_ERROR(CheckStep(values, next));
    values = std::move(next);
  }
  return ResourceExhausted("the loop takes more than {} steps", call.bodies->limits().steps_max);
}

constexpr Kernel kKernels[] = {
    {"Case", Case, 1},
    {"If", If, 1},
    {"StatelessCase", Case, 1},
    {"StatelessIf", If, 1},
    {"StatelessWhile", While, 0},
    {"While", While, 0},
};

}  // namespace

std::span<const Kernel> ControlKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::control
