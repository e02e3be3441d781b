#include "serving-node/inspect/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "serving-node/engine/reference/reference.h"
#include "serving-node/inspect/profile.h"
#include "serving-node/inspect/summary.h"
#include "serving-node/inspect/text.h"
#include "serving-node/inspect/zeros.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/proto.h"

namespace longshore::inspect {
namespace {

using Clock = std::chrono::steady_clock;

Result<RowRun> RunRow(engine::LoadedModel& model, const std::string& signature) {
  ASSIGN_OR_RETURN(auto inputs, RowsOfZeros(model.signatures().at(signature), 1));
  const engine::RunRequest request{.signature = signature, .inputs = std::move(inputs), .outputs = {}};
  // The first run includes planning; only the second one is measured.
  ASSIGN_OR_RETURN([[maybe_unused]] const auto first, engine::RunAndWait(model, request));
  const auto began = Clock::now();
  ASSIGN_OR_RETURN(auto profile, model.Profile(request));
  profile.outputs.clear();
  return RowRun{.profile = std::move(profile), .took = Clock::now() - began};
}

// Empty if the ops cannot be listed: then loading fails for the same reason and reports it.
std::vector<engine::UnsupportedOp> UnsupportedOps(const Path& version_dir, const engine::LoadOptions& options) {
  return engine::FindUnsupportedOps(version_dir, options).value_or(std::vector<engine::UnsupportedOp>());
}

void LoadAndRun(engine::Engine& engine, const engine::LoadOptions& options, Verdict* verdict) {
  const auto began = Clock::now();
  const auto model = engine.Load(verdict->dir, options);
  verdict->load_took = Clock::now() - began;
  if (!model) {
    verdict->refusal = model.error();
    return;
  }
  verdict->memory_bytes = (*model)->memory_bytes();
  for (const auto& [name, _] : (*model)->signatures()) {
    if (!IsInternal(name)) verdict->rows.emplace(name, RunRow(**model, name));
  }
}

std::string RefusalText(const Verdict& verdict) {
  std::string text;
  for (const auto& op : verdict.unsupported) {
    const std::string reason = op.reason.empty() ? ": this op is not supported" : op.reason;
    const std::string more = op.more == 0 ? "" : fmt::format(", and {} more", op.more);
    text += fmt::format("  {}{} (node \"{}\"{})\n", op.op, reason, op.node, more);
  }
  const bool is_listed = !verdict.unsupported.empty() && verdict.refusal->message.starts_with(engine::kUnsupportedOps);
  return is_listed ? text : text + fmt::format("  {}\n", verdict.refusal->message);
}

std::string RowText(const std::string& signature, const Result<RowRun>& row) {
  if (!row) return fmt::format("  one row    {}: fails with zeros: {}\n", signature, row.error().message);
  return fmt::format("  one row    {}: {}, {}, {} of memory besides the weights; {}\n", signature, TimeText(row->took),
                     FlopsText(TotalFlops(row->profile)), BytesText(static_cast<int64_t>(row->profile.bytes_peak)),
                     MostlyText(row->profile));
}

std::string OpsText(const Verdict& verdict) {
  int64_t nodes = 0;
  for (const auto& count : verdict.ops) nodes += count.nodes;
  return fmt::format("  ops        {} in {}{}\n", CountText(static_cast<int64_t>(verdict.ops.size()), "kind"),
                     CountText(nodes, "node"), verdict.unsupported.empty() ? "" : ", not all supported");
}

std::string OpList(const Verdict& verdict) {
  std::set<std::string> unsupported;
  for (const auto& op : verdict.unsupported) unsupported.insert(op.op);
  std::string text;
  for (const auto& count : verdict.ops) {
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
      const auto pattern = tensor::PatternFromProto(info.tensor_shape());
      if (!pattern) {
        advice.insert(fmt::format("input {} may have any rank; export it with a shape for faster runs", name));
        continue;
      }
      for (size_t i = 1; i < pattern->size(); ++i) {
        if ((*pattern)[i] >= 0) continue;
        advice.insert(
            fmt::format("input {} {}: dimension {} is open, so a run is planned again for every new size; pad to a "
                        "few sizes, or export it with a fixed size",
                        name, tensor::ToString(pattern), i));
      }
    }
  }
  return {advice.begin(), advice.end()};
}

Result<Verdict> Examine(engine::Engine& engine, const Path& version_dir, std::vector<std::string> tags) {
  if (tags.empty()) tags = {"serve"};
  ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, tags));
  const engine::LoadOptions options{.tags = tags, .device = {}};
  Verdict verdict;
  verdict.dir = version_dir;
  verdict.ops = CountOps(meta);
  verdict.advice = Advice(meta.signature_def());
  verdict.unsupported = UnsupportedOps(version_dir, options);
  if (const auto estimate = engine.EstimateLoad(version_dir, options)) verdict.stored_bytes = estimate->weights_bytes;
  LoadAndRun(engine, options, &verdict);
  return verdict;
}

std::string ToText(const Verdict& verdict, bool list_ops) {
  std::string text =
      fmt::format("{}: {}\n", verdict.dir.string(), verdict.is_supported() ? "supported" : "not supported");
  if (verdict.is_supported()) {
    text += fmt::format("  loads      in {}\n", TimeText(verdict.load_took));
    text += fmt::format("  weights    {} in memory, {} of files\n", BytesText(verdict.memory_bytes),
                        BytesText(verdict.stored_bytes));
  } else {
    text += RefusalText(verdict);
  }
  for (const auto& [signature, row] : verdict.rows) text += RowText(signature, row);
  text += OpsText(verdict);
  if (list_ops) text += OpList(verdict);
  for (const auto& sentence : verdict.advice) text += fmt::format("  advice     {}\n", sentence);
  return text;
}

}  // namespace longshore::inspect
