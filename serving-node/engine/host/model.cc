#include "serving-node/engine/host/model.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "common/base/thrown.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/engine/interpreter/plan_executable.h"
#include "serving-node/engine/together.h"
#include "serving-node/graph/build.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::host {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr char kInitSignature[] = "__saved_model_init_op";

bool HasVariables(const tensorflow::MetaGraphDef& meta) {
  const auto is_variable = [](const auto& node) {
    return node.op() == "VarHandleOp" || node.op() == "VariableV2" || node.op() == "Variable";
  };
  return std::any_of(meta.graph_def().node().begin(), meta.graph_def().node().end(), is_variable);
}

// Returns the node that initialises tables. TensorFlow 2 names it in a signature, TensorFlow 1 in a collection. Returns
// "" if the model has no such node.
std::string InitNode(const tensorflow::MetaGraphDef& meta) {
  const auto signature = meta.signature_def().find(kInitSignature);
  if (signature != meta.signature_def().end() && !signature->second.outputs().empty()) {
    return signature->second.outputs().begin()->second.name();
  }
  for (const char* name : {"saved_model_main_op", "legacy_init_op"}) {
    const auto collection = meta.collection_def().find(name);
    if (collection != meta.collection_def().end() && collection->second.node_list().value_size() > 0)
      return collection->second.node_list().value(0);
  }
  return "";
}

// A graph that runs while the model loads, and its feeds.
struct LoadStep {
  std::string target;
  std::map<std::string, Tensor> fed;
};

Result<std::vector<LoadStep>> LoadSteps(const tensorflow::MetaGraphDef& meta, const Path& version_dir,
                                        kernels::Resources* resources) {
  std::map<std::string, Tensor> assets;
  for (const auto& asset : meta.asset_file_def()) {
    ASSIGN_OR_RETURN(const Path path, saved_model::AssetPath(version_dir, asset));
    resources->readable_files.insert(path.string());
    assets[asset.tensor_info().name()] = Tensor::Of<std::string>({}, {path.string()});
  }
  std::vector<LoadStep> steps;
  const auto& saver = meta.saver_def();
  if (HasVariables(meta) && !saver.restore_op_name().empty()) {
    const Path prefix = saved_model::VariablesPrefix(version_dir);
    ASSIGN_OR_RETURN(resources->bundle, saved_model::Bundle::Open(prefix));
    auto fed = assets;
    fed[saver.filename_tensor_name()] = Tensor::Of<std::string>({}, {prefix.string()});
    steps.push_back({saver.restore_op_name(), std::move(fed)});
  }
  if (const std::string init = InitNode(meta); !init.empty()) steps.push_back({init, assets});
  return steps;
}

Result<graph::Graph> BuildStep(const tensorflow::MetaGraphDef& meta, const LoadStep& step) {
  graph::Wanted wanted{.feeds = {}, .outputs = {}, .targets = {step.target}};
  for (const auto& [name, value] : step.fed) wanted.feeds.push_back(name);
  return graph::Build(meta.graph_def(), wanted);
}

Result<SignaturePlan::Input> InputOf(const std::string& name, const tensorflow::TensorInfo& info,
                                     const tensorflow::SignatureDef& def) {
  if (info.encoding_case() != tensorflow::TensorInfo::kName)
    return Unimplemented("input \"{}\" is a sparse or composite tensor", name);
  SignaturePlan::Input input{info.name(), tensor::FromProto(info.dtype()), 0, std::nullopt};
  if (const auto found = def.defaults().find(name); found != def.defaults().end()) {
    ASSIGN_OR_RETURN(input.otherwise, tensor::FromProto(found->second));
  }
  return input;
}

// Does not compare shapes: as in TensorFlow, an op rejects a shape that it cannot compute. TensorFlow Serving does not
// use the shapes of the signature either (its PreProcessPrediction). The text about the type begins with that of
// TensorFlow's FunctionCallFrame::SetArgs.
Status CheckInput(const std::string& name, const SignaturePlan::Input& wanted, const Tensor& given) {
  if (given.type() != wanted.type) {
    return InvalidArgument("Expects arg[{}] to be {} but {} is provided: input \"{}\" must be of {}, not {}",
                           wanted.position, ShortName(wanted.type), ShortName(given.type()), name,
                           DTypeName(wanted.type), DTypeName(given.type()));
  }
  if (given.device() != tensor::Device{}) return InvalidArgument("input \"{}\" is not in CPU memory", name);
  return {};
}

// Returns the signature, still without its executable.
Result<SignaturePlan> Describe(const tensorflow::SignatureDef& def) {
  SignaturePlan signature;
  for (const auto& [name, info] : def.inputs()) {
    ASSIGN_OR_RETURN(signature.inputs[name], InputOf(name, info, def));
  }
  for (const auto& [name, info] : def.outputs()) {
    if (info.encoding_case() != tensorflow::TensorInfo::kName)
      return Unimplemented("output \"{}\" is a sparse or composite tensor", name);
    signature.outputs.push_back(name);
  }
  std::sort(signature.outputs.begin(), signature.outputs.end());
  return signature;
}

Result<graph::Graph> BuildSignature(const tensorflow::MetaGraphDef& meta, const tensorflow::SignatureDef& def,
                                    const SignaturePlan& signature) {
  graph::Wanted wanted;
  for (const auto& [name, input] : signature.inputs) {
    if (std::find(wanted.feeds.begin(), wanted.feeds.end(), input.tensor) == wanted.feeds.end())
      wanted.feeds.push_back(input.tensor);
  }
  for (const auto& output : signature.outputs) wanted.outputs.push_back(def.outputs().at(output).name());
  return graph::Build(meta.graph_def(), wanted);
}

// Takes from the graph what decides whether an input is accepted: the types of the fed tensors, where the graph states
// them. A TensorInfo may state another type.
void TakeTypes(const graph::Graph& graph, SignaturePlan* signature) {
  for (auto& [name, input] : signature->inputs) {
    const auto fed = graph.fed.find(input.tensor);
    input.type = graph.nodes[static_cast<size_t>(fed->second)].attributes.Type("dtype", input.type);
    input.position = static_cast<int>(std::distance(graph.fed.begin(), fed));
  }
}

Status CheckDefaults(const SignaturePlan& signature) {
  for (const auto& [name, input] : signature.inputs) {
    if (!input.otherwise) continue;
    if (auto fits = CheckInput(name, input, *input.otherwise); !fits) return Prefixed(fits.error(), "the default");
  }
  return {};
}

struct Signature {
  SignaturePlan prepared;
  graph::Graph graph;
};

Result<std::map<std::string, Signature>> BuildSignatures(const tensorflow::MetaGraphDef& meta) {
  std::map<std::string, Signature> built;
  for (const auto& [name, def] : meta.signature_def()) {
    if (IsInternal(name)) continue;
    auto prepared = Describe(def);
    if (!prepared) {
      built[name].prepared.refusal = Prefixed(prepared.error(), fmt::format("signature \"{}\"", name)).value();
      continue;
    }
    auto graph = BuildSignature(meta, def, *prepared);
    if (!graph) return Prefixed(graph.error(), fmt::format("signature \"{}\"", name));
    TakeTypes(*graph, &*prepared);
    if (auto fits = CheckDefaults(*prepared); !fits) {
      built[name].prepared.refusal = Prefixed(fits.error(), fmt::format("signature \"{}\"", name)).value();
      continue;
    }
    built[name] = {std::move(*prepared), std::move(*graph)};
  }
  return built;
}

// Merges the signatures that can run. Returns nullopt if there is no merged signature, or if it cannot be built: then
// its parts run one after the other.
std::optional<Signature> BuildMerged(const tensorflow::MetaGraphDef& meta,
                                     const std::map<std::string, Signature>& signatures) {
  Signatures runnable;
  for (const auto& [name, signature] : signatures) {
    if (!signature.prepared.refusal) runnable[name] = meta.signature_def().at(name);
  }
  const auto def = MergedSignature(runnable);
  if (!def) return std::nullopt;
  auto prepared = Describe(*def);
  if (!prepared) return std::nullopt;
  auto graph = BuildSignature(meta, *def, *prepared);
  if (!graph) return std::nullopt;
  TakeTypes(*graph, &*prepared);
  return Signature{std::move(*prepared), std::move(*graph)};
}

// The examples of a request, for each tensor of the merged signature.
TensorMap ForEachTensor(const SignaturePlan& merged, const TensorMap& inputs) {
  const auto examples = inputs.find(kExamplesInput);
  if (examples == inputs.end()) return inputs;
  TensorMap all;
  for (const auto& [name, input] : merged.inputs) all.emplace(name, examples->second);
  return all;
}

// Fails if the model has signatures but none of them can run.
Status CheckAnyRuns(const std::map<std::string, Signature>& signatures) {
  const auto is_refused = [](const auto& named) { return named.second.prepared.refusal.has_value(); };
  if (signatures.empty() || !std::ranges::all_of(signatures, is_refused)) return {};
  return tl::make_unexpected(*signatures.begin()->second.prepared.refusal);
}

// If any signature writes variables, no signature may fold the values of variables at load.
bool WritesVariables(const std::map<std::string, Signature>& signatures) {
  bool writes = false;
  for (const auto& [name, signature] : signatures) {
    graph::ForEachNode(signature.graph, [&](const graph::Node& node) {
      writes = writes || (node.has_effect && node.op.starts_with("Assign"));
    });
  }
  return writes;
}

std::string Names(const std::map<std::string, SignaturePlan::Input>& inputs) {
  std::vector<std::string> names;
  for (const auto& [name, input] : inputs) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The tensors of a request and the default values of missing inputs, by the names in Graph::fed.
Result<std::map<std::string, Tensor>> Feeds(const SignaturePlan& signature, const TensorMap& inputs) {
  std::map<std::string, Tensor> fed;
  for (const auto& [name, value] : inputs) {
    const auto wanted = signature.inputs.find(name);
    if (wanted == signature.inputs.end())
      return InvalidArgument("the signature has no input \"{}\"; the inputs are: {}", name, Names(signature.inputs));
    RETURN_IF_ERROR(CheckInput(name, wanted->second, value));
    fed[wanted->second.tensor] = value;
  }
  for (const auto& [name, wanted] : signature.inputs) {
    if (inputs.contains(name)) continue;
    if (!wanted.otherwise) return InvalidArgument("input \"{}\" is missing", name);
    fed[wanted.tensor] = *wanted.otherwise;
  }
  return fed;
}

Result<std::vector<size_t>> Positions(const SignaturePlan& signature, const std::vector<std::string>& names) {
  std::vector<size_t> positions;
  for (const auto& name : names) {
    const auto found = std::lower_bound(signature.outputs.begin(), signature.outputs.end(), name);
    if (found == signature.outputs.end() || *found != name) {
      return InvalidArgument("the signature has no output \"{}\"; the outputs are: {}", name,
                             fmt::join(signature.outputs, ", "));
    }
    positions.push_back(static_cast<size_t>(found - signature.outputs.begin()));
  }
  return positions;
}

TensorMap Named(const SignaturePlan& signature, const std::vector<size_t>& positions, std::vector<Tensor> values) {
  TensorMap outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    outputs[signature.outputs[positions.empty() ? i : positions[i]]] = std::move(values[i]);
  }
  return outputs;
}

// All graphs of a model: those that run while it loads, and those of its signatures.
struct Graphs {
  std::vector<LoadStep> steps;
  std::vector<graph::Graph> step_graphs;
  std::map<std::string, Signature> signatures;
  std::optional<Signature> merged;  // As Model::merged_.
  interpreter::Unsupported unsupported;
};

Result<Graphs> BuildGraphs(const tensorflow::MetaGraphDef& meta, const Path& version_dir,
                           kernels::Resources* resources) {
  Graphs graphs;
  ASSIGN_OR_RETURN(graphs.steps, LoadSteps(meta, version_dir, resources));
  ASSIGN_OR_RETURN(graphs.signatures, BuildSignatures(meta));
  graphs.merged = BuildMerged(meta, graphs.signatures);
  for (const auto& step : graphs.steps) {
    ASSIGN_OR_RETURN(auto graph, BuildStep(meta, step));
    graphs.unsupported.Check(graph);
    graphs.step_graphs.push_back(std::move(graph));
  }
  for (const auto& [name, signature] : graphs.signatures) graphs.unsupported.Check(signature.graph);
  return graphs;
}

}  // namespace

Result<std::vector<UnsupportedOp>> Model::FindUnsupported(const Path& version_dir, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const tensorflow::MetaGraphDef meta, saved_model::ReadMetaGraph(version_dir, options.tags));
  kernels::Resources resources;
  ASSIGN_OR_RETURN(const Graphs graphs, BuildGraphs(meta, version_dir, &resources));
  return graphs.unsupported.ToList();
}

Result<std::shared_ptr<Model>> Model::Load(const Path& version_dir, const LoadOptions& options, Pool& pool,
                                           size_t run_bytes_max, const kernels::RunLimits& limits,
                                           const MakeExecutable& make_executable) {
  ASSIGN_OR_RETURN(tensorflow::MetaGraphDef meta, saved_model::ReadMetaGraph(version_dir, options.tags));
  std::shared_ptr<Model> model(new Model(pool, run_bytes_max));
  auto& resources = model->resources_;
  ASSIGN_OR_RETURN(Graphs graphs, BuildGraphs(meta, version_dir, &resources));
  auto& [steps, step_graphs, signatures, merged, unsupported] = graphs;
  RETURN_IF_ERROR(CheckAnyRuns(signatures));
  RETURN_IF_ERROR(unsupported.ToStatus());
  for (size_t i = 0; i < steps.size(); ++i) {
    ASSIGN_OR_RETURN(const interpreter::Plan plan, interpreter::Plan::Make(std::move(step_graphs[i]), {}, resources));
    RETURN_IF_ERROR(plan.Run(steps[i].fed, {}, resources, SIZE_MAX, nullptr, limits));
  }
  resources.bundle.reset();
  resources.readable_files.clear();
  resources.is_serving = true;
  const interpreter::Plan::Folding folding{.fold = true, .fold_variables = !WritesVariables(signatures)};
  const Fold fold = [&](graph::Graph graph) {
    const auto folded = interpreter::Plan::Make(graph, folding, resources);
    return folded ? folded->ToGraph() : graph;
  };
  const auto compile = [&](const std::string& name, Signature& signature) -> Result<SignaturePlan> {
    auto plan = interpreter::Plan::Make(std::move(signature.graph), folding, resources);
    if (!plan) return Prefixed(plan.error(), fmt::format("signature \"{}\"", name));
    signature.prepared.executable =
        make_executable ? make_executable(plan->ToGraph(), fold) : RunPlan(std::move(*plan), limits);
    return std::move(signature.prepared);
  };
  for (auto& [name, signature] : signatures) {
    ASSIGN_OR_RETURN(model->plans_[name], compile(name, signature));
  }
  if (merged) {
    auto plan = compile("all signatures of examples", *merged);
    if (plan) model->merged_ = std::move(*plan);
    if (!plan) spdlog::debug("signatures of examples will run one after the other: {}", plan.error().message);
  }
  resources.DropUnusedVariables();
  model->signatures_ = std::move(*meta.mutable_signature_def());
  return model;
}

int64_t Model::memory_bytes() const {
  kernels::CountedBuffers counted;  // Signatures share variables that were read at load; these count once.
  int64_t sum = resources_.memory_bytes(&counted);
  for (const auto& [name, signature] : plans_) {
    if (signature.executable) sum += signature.executable->memory_bytes(&counted);
  }
  if (merged_) sum += merged_->executable->memory_bytes(&counted);
  return sum;
}

Result<const SignaturePlan*> Model::PlanFor(const RunRequest& request) const {
  const auto found = plans_.find(request.signature);
  if (found == plans_.end()) return NotFound("the model has no signature \"{}\"", request.signature);
  const tensorflow::SignatureDef& own = signatures_.at(request.signature);
  if (!AskTogether(signatures_, own, request.outputs)) return &found->second;
  const auto is_missing = [&](const auto& name) {
    return !merged_ || !std::ranges::binary_search(merged_->outputs, name);
  };
  const auto missing = std::ranges::find_if(request.outputs, is_missing);
  if (missing != request.outputs.end()) return tl::make_unexpected(NoSuchOutput(own, *missing));
  return &*merged_;
}

std::optional<Model::ResolvedRequest> Model::TakeIfShort(const RunRequest& request) const try {
  const auto plan = PlanFor(request);
  if (!plan || !(*plan)->short_runs->AreLikely(Bytes(request.inputs))) return std::nullopt;
  auto resolved = Take(request);
  if (!resolved || !(*plan)->executable->IsPlanned(resolved->fed, resolved->positions)) return std::nullopt;
  return std::move(*resolved);
} catch (...) {  // Without memory to take it here, the request goes to an engine thread.
  return std::nullopt;
}

Result<Model::ResolvedRequest> Model::Take(const RunRequest& request) const {
  ASSIGN_OR_RETURN(const SignaturePlan* const plan, PlanFor(request));
  ResolvedRequest resolved{.signature = plan, .fed = {}, .positions = {}};
  if (resolved.signature->refusal) return tl::make_unexpected(*resolved.signature->refusal);
  const bool is_merged = merged_ && plan == &*merged_;
  ASSIGN_OR_RETURN(resolved.fed, Feeds(*plan, is_merged ? ForEachTensor(*plan, request.inputs) : request.inputs));
  ASSIGN_OR_RETURN(resolved.positions, Positions(*resolved.signature, request.outputs));
  return resolved;
}

Result<RunResult> Model::ComputeProfiled(const ResolvedRequest& resolved, RunProfile* profile) {
  const SignaturePlan& signature = *resolved.signature;
  profile->began = std::chrono::steady_clock::now();
  auto values = signature.executable->Profile(resolved.fed, resolved.positions, resources_, run_bytes_max_, profile);
  profile->took = std::chrono::steady_clock::now() - profile->began;
  if (!values) return tl::make_unexpected(std::move(values.error()));
  return RunResult{.outputs = Named(signature, resolved.positions, std::move(*values)),
                   .took = profile->took,
                   .planned = profile->planned};
}

Result<RunResult> Model::Compute(const RunRequest& request) try {
  ASSIGN_OR_RETURN(const ResolvedRequest resolved, Take(request));
  return ComputeResolved(request, resolved);
} catch (...) {
  return FromThrown("a run of signature \"{}\"", request.signature);
}

Result<RunResult> Model::ComputeResolved(const RunRequest& request, const ResolvedRequest& resolved) try {
  const SignaturePlan& signature = *resolved.signature;
  if (request.profile) return ComputeProfiled(resolved, request.profile.get());
  const auto began = std::chrono::steady_clock::now();
  bool planned = false;
  ASSIGN_OR_RETURN(auto values,
                   signature.executable->Run(resolved.fed, resolved.positions, resources_, run_bytes_max_, &planned));
  RunResult result{.outputs = {}, .took = std::chrono::steady_clock::now() - began, .planned = planned};
  signature.short_runs->Note(Bytes(request.inputs), result.took);
  result.outputs = Named(signature, resolved.positions, std::move(values));
  return result;
} catch (...) {
  return FromThrown("a run of signature \"{}\"", request.signature);
}

Result<std::optional<NonFinite>> Model::FindOrigin(const RunRequest& request) try {
  ASSIGN_OR_RETURN(const ResolvedRequest resolved, Take(request));
  const SignaturePlan& signature = *resolved.signature;
  ASSIGN_OR_RETURN(const auto origin, signature.executable->FindNonFinite(resolved.fed, resources_, run_bytes_max_));
  if (!origin) return std::nullopt;
  return NonFinite{.output = signature.outputs[origin->output], .node = origin->maker.node, .op = origin->maker.op};
} catch (...) {
  return FromThrown("the search for NaN in a run of signature \"{}\"", request.signature);
}

Result<RunProfile> Model::Profile(const RunRequest& request) try {
  ASSIGN_OR_RETURN(const ResolvedRequest resolved, Take(request));
  RunProfile profile;
  ASSIGN_OR_RETURN(RunResult result, ComputeProfiled(resolved, &profile));
  profile.outputs = std::move(result.outputs);
  return profile;
} catch (...) {
  return FromThrown("a run of signature \"{}\"", request.signature);
}

Result<PlanView> Model::Explain(const RunRequest& request) try {
  ASSIGN_OR_RETURN(const ResolvedRequest resolved, Take(request));
  return resolved.signature->executable->Explain(resolved.fed, resolved.positions, resources_);
} catch (...) {
  return FromThrown("the plan of signature \"{}\"", request.signature);
}

template <typename Answer>
void Model::Post(RunRequest request, std::function<void(Result<Answer>)> done,
                 Result<Answer> (Model::*compute)(const RunRequest& request)) {
  // Shared by the two callbacks of Pool::Post, only one of which is called.
  std::shared_ptr<std::function<void(Result<Answer>)>> shared_done;
  try {
    shared_done = std::make_shared<std::function<void(Result<Answer>)>>(std::move(done));
    pool_.Post(
        [this, request = std::move(request), shared_done, compute] { (*shared_done)((this->*compute)(request)); },
        [shared_done] { (*shared_done)(Unavailable("too many runs are queued for a thread")); });
  } catch (...) {  // Memory did not suffice to queue the run. If make_shared failed, `done` was not moved from.
    (shared_done ? *shared_done : done)(FromThrown("a run that would be queued for a thread"));
  }
}

void Model::Run(RunRequest request, RunDone done) {
  if (request.thread == Thread::kCallers) return done(Compute(request));
  if (request.thread == Thread::kCallersIfShort) {
    if (const auto resolved = TakeIfShort(request)) return done(ComputeResolved(request, *resolved));
  }
  Post(std::move(request), std::move(done), &Model::Compute);
}

void Model::FindNonFinite(RunRequest request, FindDone done) {
  if (request.thread == Thread::kCallers) return done(FindOrigin(request));
  Post(std::move(request), std::move(done), &Model::FindOrigin);
}

}  // namespace longshore::engine::host
