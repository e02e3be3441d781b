#include "serving-node/golden_files/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "serving-node/golden_files/progress.h"
#include "serving-node/inspect/inputs.h"
#include "serving-node/inspect/text.h"
#include "serving-node/saved_model/saved_model.h"
#include "serving-node/tensor/info.h"

namespace longshore::golden_files {
namespace {

using Infos = google::protobuf::Map<std::string, tensorflow::TensorInfo>;

std::string NamesOf(const Infos& infos) {
  std::vector<std::string> names;
  for (const auto& [name, _] : infos) names.push_back(name);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

// `what` is "input" or "output".
Status CheckTensors(std::string_view what, const engine::TensorMap& tensors, const Infos& infos) {
  for (const auto& [name, values] : tensors) {
    const auto info = infos.find(name);
    if (info == infos.end())
      return InvalidArgument("the signature has no {} \"{}\"; its {}s are: {}", what, name, what, NamesOf(infos));
    const auto pattern = tensor::PatternOf(info->second);
    const auto type = tensor::FromProto(info->second.dtype());
    if (values.type() == type && tensor::Matches(values.shape(), pattern)) continue;
    return InvalidArgument("{} \"{}\" is {}, but the signature states {} {}", what, name, engine::TypeText(values),
                           DTypeName(type), tensor::ToString(pattern));
  }
  return {};
}

Status CheckComplete(const golden_set::Record& record, const tensorflow::SignatureDef& signature) {
  for (const auto& [name, _] : signature.inputs()) {
    if (!record.request.inputs.contains(name) && !signature.defaults().contains(name))
      return InvalidArgument("input \"{}\" is missing", name);
  }
  if (record.expected.empty()) return InvalidArgument("the record has no known answer");
  for (const std::string& output : record.request.outputs) {
    if (!record.expected.contains(output))
      return InvalidArgument("the request asks for the output \"{}\", but the record has no known answer for it",
                             output);
  }
  return {};
}

}  // namespace

Status CheckRecord(const golden_set::Record& record, const engine::Signatures& signatures) {
  ASSIGN_OR_RETURN(const tensorflow::SignatureDef* signature,
                   inspect::FindSignature(signatures, record.request.signature));
  RETURN_IF_ERROR(CheckTensors("input", record.request.inputs, signature->inputs()));
  RETURN_IF_ERROR(CheckTensors("output", record.expected, signature->outputs()));
  return CheckComplete(record, *signature);
}

Status Check(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(const auto meta, saved_model::ReadMetaGraph(version_dir, engine::LoadOptions{}.tags));
  ASSIGN_OR_RETURN(auto reader, golden_set::RecordReader::Open(options.file));
  Progress progress("checked", notes);
  for (size_t records = 0;; progress.Done(++records)) {
    ASSIGN_OR_RETURN(const auto record, reader.Next());
    if (!record) {
      out << fmt::format("{}: {} can be read and fit {}\n", options.file.string(),
                         inspect::CountText(static_cast<int64_t>(records), "record"), version_dir.string());
      return {};
    }
    if (const Status fits = CheckRecord(*record, meta.signature_def()); !fits)
      return Prefixed(fits.error(),
                      fmt::format("{}: record {} at byte {}", options.file.string(), reader.index(), reader.offset()));
  }
}

}  // namespace longshore::golden_files
