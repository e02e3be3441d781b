#include "serving-node/golden_files/brief.h"

#include <algorithm>

#include "common/base/text.h"
#include "serving-node/frontend/json/response.h"
#include "serving-node/tensor/finite.h"

namespace longshore::golden_files {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr int64_t kElementsMax = 8;
constexpr size_t kTextBytesMax = 120;

// The first elements as JSON writes them: [0.0, 1.5].
std::string Elements(const Tensor& values) {
  const auto flat = values.Reshaped({values.elements()});
  if (!flat) return "?";
  const Tensor first = flat->Rows(0, std::min(values.elements(), kElementsMax));
  const auto json = frontend::json::PredictionsToJson({{"v", first}}, frontend::json::JsonForm::kColumnar,
                                                      frontend::json::JsonBytes::kByContent);
  if (!json) return "?";
  const size_t begin = json->find('['), end = json->rfind(']');
  if (begin == json->npos || end == json->npos) return "?";
  std::string text = json->substr(begin + 1, end - begin - 1);
  std::erase(text, '\n');
  for (size_t at = text.find("  "); at != text.npos; at = text.find("  ")) text.erase(at, 1);
  if (text.starts_with(' ')) text.erase(0, 1);
  return CutText(text, kTextBytesMax) + (values.elements() > kElementsMax ? ", ..." : "");
}

std::string LargestColumn(const Tensor& values) {
  const bool is_row_of_scores = values.type() == DType::kFloat && values.rank() > 0 && values.elements() > 1 &&
                                values.dim(values.rank() - 1) == values.elements() && !tensor::HasNonFinite(values);
  if (!is_row_of_scores) return "";
  const auto scores = values.values<float>();
  const auto largest = std::ranges::max_element(scores);
  return fmt::format("; largest in column {}: {}", largest - scores.begin(), *largest);
}

}  // namespace

std::string Brief(const Tensor& values) {
  return fmt::format("{} {} {}{}", DTypeName(values.type()), tensor::ToString(values.shape()), Elements(values),
                     LargestColumn(values));
}

std::string Brief(const engine::TensorMap& tensors, std::string_view indent) {
  std::string text;
  for (const auto& [name, values] : tensors) text += fmt::format("{}{} {}\n", indent, name, Brief(values));
  return text;
}

}  // namespace longshore::golden_files
