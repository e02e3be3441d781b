#include "tests/gpu/convolution_plans.h"

#include <algorithm>
#include <array>
#include <exception>
#include <set>

namespace longshore::gpu {
namespace {

enum TensorId : int64_t { kInput = 1, kFilter, kOutput, kBias, kResidual, kConvolved, kBiased, kAdded };

constexpr int64_t kAlignmentBytes = 16;

// The configurations that one mode of the heuristics finds.
std::vector<Descriptor> Configurations(const Descriptor& graph, const Target& target, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  target.SetOn(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  heuristics.Finalize();
  int64_t count = 0;
  CheckDnn(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                    &count, nullptr));
  std::vector<Descriptor> found = MakeDescriptors(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
  const int64_t filled = count > 0 ? heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, found) : 0;
  found.erase(found.begin() + filled, found.end());
  return found;
}

Plan Describe(Descriptor&& config) {
  Plan plan;
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  config.Get(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  plan.engine = engine.GetInteger(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  plan.numerical_notes = engine.GetNotes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
  plan.behavior_notes = engine.GetNotes(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
  std::vector<Descriptor> choices = MakeDescriptors(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS);
  const int64_t count = config.Get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
  for (const Descriptor& choice : std::span(choices).first(static_cast<size_t>(count))) {
    Knob knob;
    int64_t got = 0;
    CheckDnn(cudnnBackendGetAttribute(choice.raw(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &got,
                                      &knob.type));
    knob.value = choice.GetInteger(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    plan.knobs.push_back(knob);
  }
  plan.config = std::make_unique<Descriptor>(std::move(config));
  return plan;
}

}  // namespace

std::vector<int64_t> Strides(const std::vector<int64_t>& dimensions, Layout layout) {
  const int64_t c = dimensions[1], h = dimensions[2], w = dimensions[3];
  if (layout == Layout::kNchw) return {c * h * w, h * w, w, 1};
  return {c * h * w, 1, w * c, c};
}

bool Plan::Has(cudnnBackendNumericalNote_t note) const {
  return std::find(numerical_notes.begin(), numerical_notes.end(), note) != numerical_notes.end();
}

bool Plan::Has(cudnnBackendBehaviorNote_t note) const {
  return std::find(behavior_notes.begin(), behavior_notes.end(), note) != behavior_notes.end();
}

bool Plan::IsFloat32() const {
  return !Has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && !Has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
         !Has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
}

std::string Plan::Name() const {
  std::string name = std::to_string(engine);
  for (const Knob& knob : knobs) name += " k" + std::to_string(knob.type) + "=" + std::to_string(knob.value);
  return name;
}

ConvolutionGraph::ConvolutionGraph(const Request& request, const Target& target) {
  const int64_t filters = request.shape.filters, size = request.shape.Output();
  const std::vector<int64_t> output = {request.batch, filters, size, size};
  const Descriptor& result = AddTensor(kOutput, output, request);
  if (request.fusion == Fusion::kNone) {
    AddConvolution(request, result);
  } else {
    const Descriptor& convolved = AddTensor(kConvolved, output, request, true);
    const Descriptor& bias = AddTensor(kBias, {1, filters, 1, 1}, request);
    const Descriptor* sum = &AddTensor(kBiased, output, request, true);
    AddConvolution(request, convolved);
    AddPointwise(CUDNN_POINTWISE_ADD, convolved, &bias, *sum);
    if (request.fusion == Fusion::kBiasResidualRelu) {
      const Descriptor& residual = AddTensor(kResidual, output, request);
      const Descriptor& added = AddTensor(kAdded, output, request, true);
      AddPointwise(CUDNN_POINTWISE_ADD, *sum, &residual, added);
      sum = &added;
    }
    AddPointwise(CUDNN_POINTWISE_RELU_FWD, *sum, nullptr, result);
  }
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor* operation : operations_) operations.push_back(operation->raw());
  graph_ = std::make_unique<Descriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(operations.size()),
              operations.data());
  if (target.is_current_device()) {
    const cudnnHandle_t handle = target.handle();
    graph_->Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  graph_->Finalize();
}

Descriptor& ConvolutionGraph::AddTensor(int64_t id, const std::vector<int64_t>& dimensions, const Request& request,
                                        bool is_virtual) {
  Descriptor& tensor = *parts_.emplace_back(std::make_unique<Descriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  const std::vector<int64_t> strides = Strides(dimensions, request.layout);
  tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, is_virtual ? CUDNN_DATA_FLOAT : request.type);
  tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions);
  tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignmentBytes);
  if (is_virtual) tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  return tensor.Finalize();
}

void ConvolutionGraph::AddConvolution(const Request& request, const Descriptor& output) {
  const Convolution& shape = request.shape;
  const std::vector<int64_t> ones = {1, 1}, strides = {shape.stride, shape.stride};
  const std::vector<int64_t> before = {shape.pad_before, shape.pad_before}, after = {shape.pad_after, shape.pad_after};
  Descriptor& convolution = *parts_.emplace_back(std::make_unique<Descriptor>(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  convolution.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
  convolution.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after).Finalize();
  const Descriptor& input = AddTensor(kInput, {request.batch, shape.channels, shape.image, shape.image}, request);
  const Descriptor& filter =
      AddTensor(kFilter, {shape.filters, shape.ChannelsPerFilter(), shape.kernel, shape.kernel}, request);
  Descriptor& operation =
      *parts_.emplace_back(std::make_unique<Descriptor>(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  const float alpha = 1, beta = 0;
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, output);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
  operation.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
  operations_.push_back(&operation.Finalize());
}

void ConvolutionGraph::AddPointwise(cudnnPointwiseMode_t mode, const Descriptor& input, const Descriptor* second,
                                    const Descriptor& output) {
  Descriptor& pointwise = *parts_.emplace_back(std::make_unique<Descriptor>(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  pointwise.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT).Finalize();
  Descriptor& operation =
      *parts_.emplace_back(std::make_unique<Descriptor>(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, input);
  if (second != nullptr) operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *second);
  operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output);
  operations_.push_back(&operation.Finalize());
}

std::vector<Plan> ConvolutionGraph::Plans(const Target& target) const {
  std::vector<Plan> plans;
  std::set<std::string> seen;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : Configurations(*graph_, target, mode)) {
      Plan plan = Describe(std::move(config));
      if (seen.insert(plan.Name()).second) plans.push_back(std::move(plan));
    }
  }
  return plans;
}

void ConvolutionGraph::Build(Plan& plan, const Target& target) {
  try {
    auto executable = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    executable->Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *plan.config);
    target.SetOn(*executable, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    executable->Finalize();
    plan.workspace_bytes = executable->GetInteger(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    plan.executable = std::move(executable);
  } catch (const std::exception& error) {
    plan.why_not = error.what();
  }
}

Descriptor Bind(const Arguments& arguments) {
  std::vector<int64_t> ids = {kInput, kFilter, kOutput};
  std::vector<const void*> memory = {arguments.input, arguments.filter, arguments.output};
  const auto add = [&](int64_t id, const void* optional) {
    if (optional == nullptr) return;
    ids.push_back(id);
    memory.push_back(optional);
  };
  add(kBias, arguments.bias);
  add(kResidual, arguments.residual);
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(memory.size()),
           memory.data());
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &arguments.workspace);
  pack.Finalize();
  return pack;
}

}  // namespace longshore::gpu
