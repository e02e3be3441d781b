// Variables, and restoring them from the bundle while the model loads.
#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {
namespace {

// Containers keep variables of one name apart.
Outputs VarHandleOp(const Call& call) {
  const std::string container = call.attributes().Text("container", "");
  const std::string shared = call.attributes().Text("shared_name", "");
  const std::string name = shared.empty() ? call.node.name : shared;
  return One(HandleOf(call.resources.FindOrMakeVariable(container.empty() ? name : container + '\0' + name)));
}

Result<Variable*> VariableOf(const Call& call) {
  auto* variable = ResourceOf<Variable>(call.in(0));
  if (variable == nullptr) return InvalidArgument("the first input is no variable");
  return variable;
}

Result<Tensor> ValueOf(const Call& call) {
  ASSIGN_OR_RETURN(const Variable* variable, VariableOf(call));
  Tensor value = variable->Get();
  if (value.empty()) return FailedPrecondition("the variable has no value: it was not restored or initialised");
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

// The parts of one tensor that are asked for, and which outputs they become.
struct Asked {
  std::vector<saved_model::SliceSpec> parts;
  std::vector<size_t> outputs;
};

Status RestoreParts(const saved_model::Bundle& bundle, const std::map<std::string, Asked>& by_name,
                    std::vector<Tensor>* values) {
  for (const auto& [name, asked] : by_name) {
    ASSIGN_OR_RETURN(auto parts, bundle.ReadSlices(name, asked.parts));
    for (size_t i = 0; i < parts.size(); ++i) (*values)[asked.outputs[i]] = std::move(parts[i]);
  }
  return {};
}

// The prefix (the first input) is ignored: what is restored is the bundle of this version, whatever the graph was told.
Outputs RestoreV2(const Call& call) {
  if (!call.resources.bundle) return FailedPrecondition("variables are only restored while the model loads");
  if (call.in(1).type() != DType::kString || call.in(2).type() != DType::kString ||
      call.in(1).elements() != call.in(2).elements()) {
    return InvalidArgument("tensor_names and shape_and_slices must be strings, as many of one as of the other");
  }
  const auto names = call.in(1).values<std::string>();
  const auto slices = call.in(2).values<std::string>();
  std::vector<Tensor> values(names.size());
  std::map<std::string, Asked> in_parts;
  for (size_t i = 0; i < names.size(); ++i) {
    if (slices[i].empty()) {
      ASSIGN_OR_RETURN(values[i], call.resources.bundle->Read(names[i]));
      continue;
    }
    Asked& asked = in_parts[names[i]];
    ASSIGN_OR_RETURN(asked.parts.emplace_back(), saved_model::ParseSlice(slices[i]));
    asked.outputs.push_back(i);
  }
  RETURN_IF_ERROR(RestoreParts(*call.resources.bundle, in_parts, &values));
  return values;
}

constexpr Kernel kKernels[] = {
    {.op = "VarHandleOp", .compute = VarHandleOp},
    {.op = "ReadVariableOp", .compute = ReadVariableOp, .inputs_min = 1},
    {.op = "AssignVariableOp", .compute = AssignVariableOp, .inputs_min = 2, .is_foldable = false},
    {.op = "VarIsInitializedOp", .compute = VarIsInitializedOp, .inputs_min = 1, .is_foldable = false},
    {.op = "VariableShape", .compute = VariableShape, .inputs_min = 1},
    {.op = "RestoreV2", .compute = RestoreV2, .inputs_min = 3, .is_foldable = false},
};

}  // namespace

std::span<const Kernel> VariableKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels
