#include "serving-node/inspect/explain.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "serving-node/inspect/inputs.h"
#include "serving-node/inspect/text.h"
#include "serving-node/inspect/zeros.h"

namespace longshore::inspect {
namespace {

using engine::PlanStep;
using engine::PlanView;

// The kind of implementation without details: "onednn" for "onednn brgconv:avx512_core".
std::string KindOf(const PlanStep& step) { return step.how.substr(0, step.how.find(' ')); }

std::string KindsText(const PlanView& view) {
  std::map<std::string, int64_t> kinds;
  for (const PlanStep& step : view.steps) ++kinds[KindOf(step)];
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, count);
  return text;
}

// The common prefix of all node names, up to a "/": "StatefulPartitionedCall/functional_1/".
std::string CommonFolder(const std::vector<PlanStep>& steps) {
  if (steps.size() < 2) return "";
  std::string common = steps[0].node;
  for (const PlanStep& step : steps) {
    const auto [end, _] = std::ranges::mismatch(common, step.node);
    common.erase(end, common.end());
  }
  return common.substr(0, common.rfind('/') + 1);  // Empty without a "/": npos + 1 is 0.
}

std::string InputsText(const engine::TensorMap& inputs) {
  std::string text;
  for (const auto& [name, value] : inputs) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", name, DTypeName(value.type()),
                        tensor::ToString(value.shape()));
  }
  return text;
}

Result<Inputs> InputsOf(const Options& options, const engine::LoadedModel& model) {
  if (!options.inputs.empty() || !options.inputs_file.empty()) return ReadInputs(options, model);
  Inputs inputs{.signature = SignatureOf(options), .tensors = {}};
  ASSIGN_OR_RETURN(const auto* signature, FindSignature(model.signatures(), inputs.signature));
  ASSIGN_OR_RETURN(inputs.tensors, RowsOfZeros(*signature, options.batch));
  return inputs;
}

}  // namespace

std::string ToText(const PlanView& view) {
  std::string text = fmt::format("  as read         {}\n", CountText(static_cast<int64_t>(view.nodes), "node"));
  for (const auto& pass : view.passes) {
    text += fmt::format("  {:<14}  {}\n", pass.name, CountText(static_cast<int64_t>(pass.nodes), "node"));
  }
  text += fmt::format("  for the shapes  {}: {}; {} of memory for a run besides weights and inputs\n",
                      CountText(static_cast<int64_t>(view.steps.size()), "step"), KindsText(view),
                      BytesText(static_cast<int64_t>(view.run_bytes)));
  if (view.rows_at_once > 0)
    text += fmt::format("  slices          {} at a time\n", CountText(view.rows_at_once, "row"));
  const std::string folder = CommonFolder(view.steps);
  if (!folder.empty()) text += fmt::format("  common prefix   {}\n", folder);
  text +=
      fmt::format("  {:>4}  {:<34}  {:<20}  {:>12}  {:<30}  {}\n", "STEP", "OP", "SHAPE", "COST", "RUNS AS", "NODE");
  for (size_t i = 0; i < view.steps.size(); ++i) {
    const PlanStep& step = view.steps[i];
    const std::string op = step.then.empty() ? step.op : fmt::format("{} + {}", step.op, step.then);
    text += fmt::format("  {:>4}  {:<34}  {:<20}  {:>12}  {:<30}  {}\n", i + 1, op, step.shape,
                        step.flops == 0 ? "" : FlopsText(static_cast<double>(step.flops)), step.how,
                        step.node.substr(folder.size()));
  }
  return text;
}

Json ToJson(const PlanView& view) {
  Json passes = Json::array(), steps = Json::array();
  for (const auto& pass : view.passes) passes.push_back({{"name", pass.name}, {"nodes", pass.nodes}});
  for (const PlanStep& step : view.steps) {
    steps.push_back({{"node", step.node},
                     {"op", step.op},
                     {"then", step.then},
                     {"shape", step.shape},
                     {"how", step.how},
                     {"flops", step.flops}});
  }
  return {{"nodes", view.nodes},
          {"passes", passes},
          {"steps", steps},
          {"rows_at_once", view.rows_at_once},
          {"run_bytes", view.run_bytes}};
}

Status ExplainSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out) {
  ASSIGN_OR_RETURN(const auto model, engine.Load(version_dir, options.load()));
  ASSIGN_OR_RETURN(Inputs inputs, InputsOf(options, *model));
  const std::string given = InputsText(inputs.tensors);
  ASSIGN_OR_RETURN(
      const PlanView view,
      model->Explain({.signature = inputs.signature, .inputs = std::move(inputs.tensors), .outputs = options.outputs}));
  if (options.json) {
    out << ToJson(view).dump(2) << "\n";
  } else {
    out << fmt::format("{} of {}, for {}\n", inputs.signature, version_dir.string(), given) << ToText(view);
  }
  return {};
}

}  // namespace longshore::inspect
