// Variables. Their values are restored from the bundle (the checkpoint files) while the model loads.
#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/engine/kernels/state/families.h"

namespace longshore::engine::kernels::state {
namespace {

// Variables that have the same name but different containers are different variables.
Outputs VarHandleOp(const Call& call) {
  const std::string container = call.attributes().Text("container", "");
  const std::string shared = call.attributes().Text("shared_name", "");
  const std::string name = shared.empty() ? call.node.name : shared;
  return One(HandleOf(call.resources.FindOrMakeVariable(container.empty() ? name : container + '\0' + name)));
}

Result<Variable*> VariableOf(const Call& call) {
  auto* variable = ResourceOf<Variable>(call.in(0));
  if (variable == nullptr) return InvalidArgument("the first input is not a variable");
  return variable;
}

Result<Tensor> ValueOf(const Call& call) {
  ASSIGN_OR_RETURN(const Variable* variable, VariableOf(call));
  Tensor value = variable->Get();
  if (value.empty())
    return FailedPrecondition(
        "the variable has no value: it was not restored or initialised (tf.saved_model.save leaves the variables of a "
        "Keras 3 model out: save it with model.export)");
  return value;
}

Outputs ReadVariableOp(const Call& call) {
  ASSIGN_OR_RETURN(Tensor value, ValueOf(call));
  return One(std::move(value));
}

Outputs AssignVariableOp(const Call& call) {
  ASSIGN_OR_RETURN(Variable * variable, VariableOf(call));
  variable->Set(call.in(1));
  return std::vector<Tensor>{};
}

Outputs VarIsInitializedOp(const Call& call) {
  ASSIGN_OR_RETURN(const Variable* variable, VariableOf(call));
  return One(Tensor::Of<bool>({}, {!variable->Get().empty()}));
}

Outputs VariableShape(const Call& call) {
  ASSIGN_OR_RETURN(const Tensor value, ValueOf(call));
  const Shape& shape = value.shape();
  const Shape vector = {static_cast<int64_t>(shape.size())};
  if (call.attributes().Type("out_type", DType::kInt32) == DType::kInt64)
    return One(Tensor::Of<int64_t>(vector, shape));
  return One(Tensor::Of<int32_t>(vector, {shape.begin(), shape.end()}));
}

constexpr size_t kRestoredTimesMax = 4;
constexpr size_t kReadTimesMax =
    64;  // If each part of a tensor has its own restore node, a tensor that is stored whole is read once for each part.
constexpr size_t kReadBytesMin = size_t{1} << 30;

// Limits how many bytes are restored and read, because a malicious graph could otherwise use any amount of memory and
// time. A normal graph restores each tensor once, or in parts that do not overlap.
Status CountRestored(const Call& call, const saved_model::Bundle::Cost& cost) {
  auto& resources = call.resources;
  const auto stored = static_cast<size_t>(resources.bundle->stored_bytes());
  const size_t given_max = kRestoredTimesMax * stored;
  if (cost.given_bytes > given_max - resources.restored_bytes) {
    return ResourceExhausted("the graph restores more than {} bytes, {} times the stored bytes of the version",
                             given_max, kRestoredTimesMax);
  }
  const size_t read_max = std::max(kReadTimesMax * stored, kReadBytesMin);
  if (cost.read_bytes > read_max - resources.read_bytes) {
    return ResourceExhausted("the graph reads more than {} bytes to restore parts of tensors; the version stores {}",
                             read_max, stored);
  }
  resources.restored_bytes += cost.given_bytes;
  resources.read_bytes += cost.read_bytes;
  return {};
}

// For each slice of one tensor, the indices of the outputs that get this slice. The key is the text of the slice, or ""
// for the whole tensor.
using OutputsBySlice = std::map<std::string, std::vector<size_t>>;

Status RestoreTensor(const Call& call, const std::string& name, const OutputsBySlice& outputs_by_slice,
                     std::vector<Tensor>* values) {
  const auto& bundle = *call.resources.bundle;
  std::vector<saved_model::SliceSpec> parts;
  for (const auto& [text, outputs] : outputs_by_slice) {
    ASSIGN_OR_RETURN(parts.emplace_back(), text.empty() ? bundle.Whole(name) : saved_model::ParseSlice(text));
  }
  ASSIGN_OR_RETURN(const auto cost, bundle.CostOf(name, parts));
  RETURN_IF_ERROR(CountRestored(call, cost));
  ASSIGN_OR_RETURN(const auto tensors, bundle.ReadSlices(name, parts));
  size_t at = 0;
  for (const auto& [text, outputs] : outputs_by_slice) {
    for (const size_t output : outputs) (*values)[output] = tensors[at];
    ++at;
  }
  return {};
}

// Ignores its first input, the prefix of the bundle: it always restores from the bundle of the version that is loading.
Outputs RestoreV2(const Call& call) {
  if (!call.resources.bundle) return FailedPrecondition("variables are only restored while the model loads");
  if (call.in(1).type() != DType::kString || call.in(2).type() != DType::kString ||
      call.in(1).elements() != call.in(2).elements()) {
    return InvalidArgument("tensor_names and shape_and_slices must have the same number of strings");
  }
  const auto names = call.in(1).values<std::string>();
  const auto slices = call.in(2).values<std::string>();
  std::map<std::string, OutputsBySlice> slices_by_name;
  for (size_t i = 0; i < names.size(); ++i) slices_by_name[names[i]][slices[i]].push_back(i);
  std::vector<Tensor> values(names.size());
  for (const auto& [name, outputs_by_slice] : slices_by_name)
    RETURN_IF_ERROR(RestoreTensor(call, name, outputs_by_slice, &values));
  return values;
}

constexpr Kernel kKernels[] = {
    {.op = "VarHandleOp", .compute = VarHandleOp},
    {.op = "ReadVariableOp", .compute = ReadVariableOp, .inputs_min = 1, .reads_variable = true},
    {.op = "AssignVariableOp", .compute = AssignVariableOp, .inputs_min = 2, .is_foldable = false},
    {.op = "VarIsInitializedOp", .compute = VarIsInitializedOp, .inputs_min = 1, .is_foldable = false},
    {.op = "VariableShape", .compute = VariableShape, .inputs_min = 1, .reads_variable = true},
    {.op = "RestoreV2", .compute = RestoreV2, .inputs_min = 3, .is_foldable = false},
};

}  // namespace

std::span<const Kernel> VariableKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::state
