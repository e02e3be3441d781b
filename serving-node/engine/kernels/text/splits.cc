// Splits strings into a sparse matrix with one row per string, and makes n-grams of words.
#include <optional>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

using Pieces = std::vector<std::string_view>;

constexpr std::string_view kSpace = " \t\n\v\f\r";

// Splits the text at each byte that is a delimiter, or after every byte if there are no delimiters. An empty text has
// no pieces.
Pieces SplitAtAny(std::string_view text, const std::string& delimiters, bool skip_empty) {
  Pieces pieces;
  if (text.empty()) return pieces;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return pieces;
  }
  while (true) {
    const size_t end = text.find_first_of(delimiters);
    if (!skip_empty || !text.substr(0, end).empty()) pieces.push_back(text.substr(0, end));
    if (end == text.npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// Splits the text at each run of white space. If splits_max is above 0, splits off at most splits_max pieces. The rest
// of the text is then the last piece, even if it is empty.
Pieces SplitAtSpace(std::string_view text, int64_t splits_max) {
  Pieces pieces;
  const auto skip_space = [&] { text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size())); };
  skip_space();
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kSpace), text.size());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
    skip_space();
    if (splits_max > 0 && static_cast<int64_t>(pieces.size()) == splits_max) {
      pieces.push_back(text);
      break;
    }
  }
  return pieces;
}

// Splits the text at each occurrence of the separator, or at the first splits_max ones if splits_max is above 0.
Pieces SplitAtText(std::string_view text, const std::string& separator, int64_t splits_max) {
  Pieces pieces;
  for (size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
    if (splits_max > 0 && static_cast<int64_t>(pieces.size()) == splits_max) break;
  }
  pieces.push_back(text);
  return pieces;
}

// Makes the op's outputs from the pieces of each row: the indices, values and shape of a sparse matrix.
Outputs AsSparse(const Call& call, const std::vector<Pieces>& rows) {
  size_t count = 0, longest = 0;
  for (const auto& row : rows) {
    count += row.size();
    longest = std::max(longest, row.size());
  }
  const auto total = static_cast<int64_t>(count);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kString, {total, 2}));
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, {total, 2}));
  ASSIGN_OR_RETURN(Tensor values, Tensor::Make(DType::kString, {total}));
  int64_t at = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i, ++at) {
      Raw<int64_t>(indices)[2 * at] = static_cast<int64_t>(row);
      Raw<int64_t>(indices)[2 * at + 1] = static_cast<int64_t>(i);
      Raw<std::string>(values)[at] = rows[row][i];
    }
  }
  return std::vector<Tensor>{
      indices, values, Tensor::Of<int64_t>({2}, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(longest)})};
}

Status CheckVector(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  if (call.in(0).rank() == 1) return {};
  return InvalidArgument("input must be a vector, not of shape {}", ToString(call.in(0).shape()));
}

Outputs StringSplit(const Call& call) {
  RETURN_IF_ERROR(CheckVector(call));
  ASSIGN_OR_RETURN(const std::string delimiters, TextOf(call, 1, "delimiter"));
  const bool skip_empty = call.attributes().Bool("skip_empty", true);
  std::vector<Pieces> rows;
  for (const auto& text : call.in(0).values<std::string>()) rows.push_back(SplitAtAny(text, delimiters, skip_empty));
  return AsSparse(call, rows);
}

Outputs StringSplitV2(const Call& call) {
  RETURN_IF_ERROR(CheckVector(call));
  ASSIGN_OR_RETURN(const std::string separator, TextOf(call, 1, "sep"));
  const int64_t splits_max = call.attributes().Int("maxsplit", -1);
  std::vector<Pieces> rows;
  for (const auto& text : call.in(0).values<std::string>()) {
    if (splits_max == 0)
      rows.push_back({text});
    else
      rows.push_back(separator.empty() ? SplitAtSpace(text, splits_max) : SplitAtText(text, separator, splits_max));
  }
  return AsSparse(call, rows);
}

struct Padding {
  std::string separator, left, right;
  int64_t width = -1;  // The number of padding words on each side; -1 stands for the width of the n-gram minus 1.

  explicit Padding(const graph::Attributes& attributes)
      : separator(attributes.Text("separator", "")),
        left(attributes.Text("left_pad", "")),
        right(attributes.Text("right_pad", "")),
        width(attributes.Int("pad_width", 0)) {}
  int64_t of(int64_t ngram_width) const {
    return width < 0 ? ngram_width - 1 : std::min<int64_t>(width, ngram_width - 1);
  }
};

// Returns the n-gram that begins at the word with the index `begin`. Positions before and after the words are padding.
std::string NGram(std::span<const std::string> words, int64_t begin, int64_t width, const Padding& padding) {
  std::string text;
  for (int64_t i = begin; i < begin + width; ++i) {
    if (i > begin) text += padding.separator;
    if (i < 0)
      text += padding.left;
    else
      text += i < static_cast<int64_t>(words.size()) ? words[static_cast<size_t>(i)] : padding.right;
  }
  return text;
}

struct NGrams {
  const Call& call;
  Padding padding = Padding(call.attributes());
  std::vector<int64_t> widths = call.attributes().Ints("ngram_widths");
  std::vector<std::string> made = {};
  int64_t bytes = 0;

  Status Add(std::span<const std::string> words, int64_t width, int64_t padded) {
    const auto count = static_cast<int64_t>(words.size());
    size_t longest = std::max(padding.left.size(), padding.right.size()) + padding.separator.size();
    for (const auto& word : words) longest = std::max(longest, word.size() + padding.separator.size());
    for (int64_t begin = -padded; begin + width <= count + padded; ++begin) {
      RETURN_IF_ERROR(HasRoomForText(call, width, longest));
      made.push_back(NGram(words, begin, width, padding));
      bytes += static_cast<int64_t>(made.back().size() + sizeof(std::string));
      RETURN_IF_ERROR(HasRoomForText(call, bytes, 1));
    }
    return {};
  }

  // Adds the n-grams of one sequence of words. If preserve_short_sequences is true, a sequence that is too short for
  // every width becomes a single n-gram.
  Status AddRow(std::span<const std::string> words) {
    const size_t before = made.size();
    for (const int64_t width : widths) RETURN_IF_ERROR(Add(words, width, padding.of(width)));
    if (made.size() > before || words.empty() || !call.attributes().Bool("preserve_short_sequences", false)) return {};
    if (padding.width < 0) return InvalidArgument("pad_width must be at least 0 with preserve_short_sequences");
    return Add(words, static_cast<int64_t>(words.size()) + 2 * padding.width, padding.width);
  }
};

Status CheckNGrams(const graph::Node& node) {
  for (const int64_t width : node.attributes.Ints("ngram_widths")) {
    if (width < 1 || width > INT32_MAX) return Unimplemented("{} with ngram_widths {}", node.op, width);
  }
  if (node.attributes.Int("pad_width", 0) > INT32_MAX)
    return Unimplemented("{} with pad_width {}", node.op, node.attributes.Int("pad_width", 0));
  return {};
}

Outputs StringNGrams(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const auto words = call.in(0).values<std::string>();
  ASSIGN_OR_RETURN(const auto splits, AllIntsOf(call.in(1), "data_splits"));
  if (call.in(0).rank() != 1 || call.in(1).rank() != 1) return InvalidArgument("data and data_splits must be vectors");
  if (!splits.empty()) RETURN_IF_ERROR(CheckSplits(splits, call.in(0).elements()));
  NGrams ngrams{call};
  std::vector<int64_t> ends(splits.empty() ? 0 : 1);
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    const auto begin = static_cast<size_t>(splits[row]);
    RETURN_IF_ERROR(ngrams.AddRow(words.subspan(begin, static_cast<size_t>(splits[row + 1]) - begin)));
    ends.push_back(static_cast<int64_t>(ngrams.made.size()));
  }
  const auto count = static_cast<int64_t>(ngrams.made.size());
  ASSIGN_OR_RETURN(const Tensor made_splits, IntTensor(call.in(1).type(), {static_cast<int64_t>(ends.size())}, ends));
  return std::vector<Tensor>{Tensor::Of<std::string>({count}, ngrams.made), made_splits};
}

constexpr Kernel kKernels[] = {
    {.op = "StringNGrams", .compute = StringNGrams, .inputs_min = 2, .check = CheckNGrams},
    {.op = "StringSplit", .compute = StringSplit, .inputs_min = 2},
    {.op = "StringSplitV2", .compute = StringSplitV2, .inputs_min = 2},
};

}  // namespace

std::span<const Kernel> SplitKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
