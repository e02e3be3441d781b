#include "serving-node/inference/inputs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "common/base/sorted_keys.h"
#include "common/base/text.h"
#include "serving-node/engine/together.h"
#include "serving-node/inference/inference.h"

namespace longshore::inference {
namespace {

// Error messages show this many bytes of a list of names, and of a name.
constexpr size_t kShownBytesMax = 1024;

using Names = std::vector<std::string_view>;  // In ascending order.

Names Without(const Names& names, const Names& others) {
  Names rest;
  std::ranges::set_difference(names, others, std::back_inserter(rest));
  return rest;
}

// Returns the names in braces, separated by commas.
std::string Shown(const Names& names) {
  std::string shown;
  for (const std::string_view name : names) {
    if (!shown.empty()) shown += ',';
    shown += name.substr(0, kShownBytesMax);
    if (shown.size() > kShownBytesMax) break;
  }
  return "{" + CutText(shown, kShownBytesMax) + "}";
}

// Whether the request has exactly the inputs of the signature: the usual case, for which no lists are made.
bool HasAllInputs(const Request& request, const tensorflow::SignatureDef& signature) {
  return request.input_count() == signature.inputs().size() &&
         std::ranges::all_of(signature.inputs(), [&](const auto& input) { return request.HasInput(input.first); });
}

Status CheckInputNames(const Request& request, const tensorflow::SignatureDef& signature) {
  if (HasAllInputs(request, signature)) return {};
  const Names sent = request.input_names();
  const Names known = SortedKeys(signature.inputs());
  const Names extra = Without(sent, known);
  const Names missing = Without(Without(known, SortedKeys(signature.defaults())), sent);
  if (extra.empty() && missing.empty()) return {};
  return InvalidArgument(
      "input size does not match signature: {}!={} len({}) != len({}). Sent extra: {}. Missing but required: {}.",
      sent.size(), known.size(), Shown(sent), Shown(known), Shown(extra), Shown(missing));
}

Status CheckOutputNames(const Request& request, const tensorflow::SignatureDef& signature, const Signatures& all) {
  const bool together = engine::AskTogether(all, signature, request.outputs());
  std::set<std::string_view> seen;
  for (const std::string& name : request.outputs()) {
    const bool is_known =
        together ? engine::FindTogether(all, signature, name).has_value() : signature.outputs().contains(name);
    if (!is_known) return tl::make_unexpected(engine::NoSuchOutput(signature, CutText(name, kShownBytesMax)));
    if (!seen.insert(name).second) return InvalidArgument("duplicate output tensor alias: {}", name);
  }
  return {};
}

}  // namespace

Result<engine::RunRequest> ToRunRequest(const Request& request, const Signatures& signatures, int64_t elements_max,
                                        size_t filled_bytes_max) {
  engine::RunRequest run;
  run.signature = SignatureName(request.model_spec());
  const auto signature = signatures.find(run.signature);
  if (signature == signatures.end())
    return FailedPrecondition("Serving signature key \"{}\" not found.", run.signature);
  RETURN_IF_ERROR(CheckInputNames(request, signature->second));
  RETURN_IF_ERROR(CheckOutputNames(request, signature->second, signatures));
  ASSIGN_OR_RETURN(run.inputs, request.ReadInputs(elements_max, filled_bytes_max));
  run.outputs = request.outputs();
  return run;
}

}  // namespace longshore::inference
