#include "serving-node/inspect/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <set>

#include "serving-node/engine/host/host.h"
#include "serving-node/inspect/profile.h"
#include "serving-node/inspect/summary.h"
#include "serving-node/inspect/text.h"
#include "serving-node/inspect/zeros.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/finite.h"
#include "serving-node/tensor/info.h"

namespace longshore::inspect {
namespace {

using Clock = std::chrono::steady_clock;

// Returns where the NaN or Inf of an output comes from; nullopt if all outputs are finite.
Result<std::optional<engine::NonFinite>> NonFiniteOf(engine::LoadedModel& model, const engine::RunRequest& request,
                                                     const engine::TensorMap& outputs) {
  const bool is_finite =
      std::ranges::none_of(outputs, [](const auto& output) { return tensor::HasNonFinite(output.second); });
  if (is_finite) return std::nullopt;
  std::promise<Result<std::optional<engine::NonFinite>>> found;
  model.FindNonFinite(request, [&found](auto result) { found.set_value(std::move(result)); });
  return found.get_future().get();
}

Result<RowRun> RunRow(engine::LoadedModel& model, const std::string& signature) {
  ASSIGN_OR_RETURN(auto inputs, RowsOfZeros(model.signatures().at(signature), 1));
  const engine::RunRequest request{.signature = signature, .inputs = std::move(inputs), .outputs = {}};
  // The first run includes planning; only the second one is measured.
  ASSIGN_OR_RETURN([[maybe_unused]] const auto first, engine::RunAndWait(model, request));
  const auto began = Clock::now();
  ASSIGN_OR_RETURN(auto profile, model.Profile(request));
  const auto took = Clock::now() - began;
  ASSIGN_OR_RETURN(auto non_finite, NonFiniteOf(model, request, profile.outputs));
  profile.outputs.clear();
  return RowRun{.profile = std::move(profile), .took = took, .non_finite = std::move(non_finite)};
}

// Returns an empty list if the ops cannot be listed. In this case loading fails for the same reason and reports it.
std::vector<engine::UnsupportedOp> UnsupportedOps(const Path& version_dir, const engine::LoadOptions& options) {
  return engine::host::FindUnsupportedOps(version_dir, options).value_or(std::vector<engine::UnsupportedOp>());
}

void LoadAndRun(engine::Engine& engine, const engine::LoadOptions& options, CheckResult* result) {
  const auto began = Clock::now();
  const auto model = engine.Load(result->dir, options);
  result->load_took = Clock::now() - began;
  if (!model) {
    result->refusal = model.error();
    return;
  }
  result->memory_bytes = (*model)->memory_bytes();
  for (const auto& [name, _] : (*model)->signatures()) {
    if (!engine::IsInternal(name)) result->rows.emplace(name, RunRow(**model, name));
  }
}

std::string RefusalText(const CheckResult& result) {
  std::string text;
  for (const auto& op : result.unsupported) {
    const std::string reason = op.reason.empty() ? ": this op is not supported" : op.reason;
    const std::string more = op.more == 0 ? "" : fmt::format(", and {} more", op.more);
    text += fmt::format("  {}{} (node \"{}\"{})\n", op.op, reason, op.node, more);
  }
  const bool is_listed = !result.unsupported.empty() && result.refusal->message.starts_with(engine::kUnsupportedOps);
  return is_listed ? text : text + fmt::format("  {}\n", result.refusal->message);
}

std::string RowText(const std::string& signature, const Result<RowRun>& row) {
  if (!row)
    return fmt::format("  one row    {}: a run with zeros as inputs fails (real inputs may succeed): {}\n", signature,
                       row.error().message);
  const std::string text =
      fmt::format("  one row    {}: {}, {}, {} of memory besides the weights; {}\n", signature, TimeText(row->took),
                  FlopsText(TotalFlops(row->profile)), BytesText(static_cast<int64_t>(row->profile.bytes_peak)),
                  MostlyText(row->profile));
  if (!row->non_finite) return text;
  return text + fmt::format(
                    "  warning    {}: with zeros as inputs there is a NaN or Inf in {}; real inputs may give "
                    "finite values\n",
                    signature, engine::ToString(*row->non_finite));
}

std::string OpsText(const CheckResult& result) {
  int64_t nodes = 0;
  for (const auto& count : result.ops) nodes += count.nodes;
  return fmt::format("  ops        {} in {}{}\n", CountText(static_cast<int64_t>(result.ops.size()), "kind"),
                     CountText(nodes, "node"), result.unsupported.empty() ? "" : ", not all supported");
}

std::string OpList(const CheckResult& result) {
  std::set<std::string> unsupported;
  for (const auto& op : result.unsupported) unsupported.insert(op.op);
  std::string text;
  for (const auto& count : result.ops) {
    text +=
        fmt::format("    {:>6}  {}{}\n", count.nodes, count.op, unsupported.contains(count.op) ? "  unsupported" : "");
  }
  return text;
}

}  // namespace

std::vector<std::string> Advice(const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures) {
  std::set<std::string> advice;
  for (const auto& [signature, def] : signatures) {
    for (const auto& [name, info] : def.inputs()) {
      const auto pattern = tensor::PatternOf(info);
      if (!pattern) {
        advice.insert(fmt::format("input {} may have any rank; export it with a shape for faster runs", name));
        continue;
      }
      for (size_t i = 1; i < pattern->size(); ++i) {
        if ((*pattern)[i] >= 0) continue;
        advice.insert(
            fmt::format("input {} {}: dimension {} may have any size, and every new size needs a new plan; pad the "
                        "inputs to a few sizes, or export the model with a fixed size",
                        name, tensor::ToString(pattern), i));
      }
    }
  }
  return {advice.begin(), advice.end()};
}

Result<CheckResult> CheckModel(engine::Engine& engine, const Path& version_dir, std::vector<std::string> tags) {
  if (tags.empty()) tags = {"serve"};
  ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, tags));
  const engine::LoadOptions options{.tags = tags, .device = {}};
  CheckResult result;
  result.dir = version_dir;
  result.ops = CountOps(meta);
  result.advice = Advice(meta.signature_def());
  result.unsupported = UnsupportedOps(version_dir, options);
  if (const auto estimate = engine.EstimateLoad(version_dir, options)) result.stored_bytes = estimate->weights_bytes;
  LoadAndRun(engine, options, &result);
  return result;
}

std::string ToText(const CheckResult& result, bool list_ops) {
  std::string text =
      fmt::format("{}: {}\n", result.dir.string(), result.is_supported() ? "supported" : "not supported");
  if (result.is_supported()) {
    text += fmt::format("  loads      in {}\n", TimeText(result.load_took));
    text += fmt::format("  weights    {} in memory, {} in files\n", BytesText(result.memory_bytes),
                        BytesText(result.stored_bytes));
  } else {
    text += RefusalText(result);
  }
  for (const auto& [signature, row] : result.rows) text += RowText(signature, row);
  text += OpsText(result);
  if (list_ops) text += OpList(result);
  for (const auto& sentence : result.advice) text += fmt::format("  advice     {}\n", sentence);
  return text;
}

}  // namespace longshore::inspect
