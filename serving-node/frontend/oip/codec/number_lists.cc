#include "serving-node/frontend/oip/codec/number_lists.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "serving-node/frontend/json/numbers.h"
#include "serving-node/frontend/oip/codec/infer.h"

namespace longshore::frontend::oip::codec {
namespace {

using tensor::DType;
using tensor::Tensor;

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Reads the number at `at`, and returns the position after it; nullptr if a JsonReader must read it.
template <typename T>
const char* TakeNumber(const char* at, const char* end, T* number) {
  if constexpr (std::is_floating_point_v<T>) {
    return json::TakeReal(at, end, number);
  } else {
    const char* const digits = at + (*at == '-' ? 1 : 0);
    const auto [next, error] = std::from_chars(at, end, *number);
    const bool is_whole = *next != '.' && *next != 'e' && *next != 'E';
    const bool has_needless_zero = *digits == '0' && next - digits > 1;
    return error == std::errc{} && is_whole && !has_needless_zero ? next : nullptr;
  }
}

template <typename T>
class ListFiller {
 public:
  ListFiller(std::string_view text, Tensor* tensor)
      : at_(text.data()),
        end_(text.data() + text.size()),
        out_(reinterpret_cast<T*>(tensor->mutable_data())),
        out_end_(out_ + tensor->elements()) {}

  const char* Read() {
    if (at_ == end_ || *at_ != '[') return nullptr;
    do {
      if (!ReadValue()) return nullptr;
    } while (levels_ > 0 && ReadSeparator());
    return levels_ == 0 && out_ == out_end_ ? at_ : nullptr;
  }

 private:
  // Reads brackets that open, and then a number or the end of an empty list.
  bool ReadValue() {
    SkipBlanks();
    bool is_begun = false;
    for (; at_ != end_ && *at_ == '['; is_begun = true) {
      if (++levels_ > size_t{tensor::kRankMax}) return false;
      ++at_;
      SkipBlanks();
    }
    if (at_ == end_) return false;
    if (*at_ == ']') return is_begun && ReadEnds();
    if (out_ == out_end_ || (at_ = TakeNumber(at_, end_, out_)) == nullptr) return false;
    ++out_;
    return ReadEnds();
  }

  // Reads the brackets that close after a value.
  bool ReadEnds() {
    for (SkipBlanks(); levels_ > 0 && at_ != end_ && *at_ == ']'; SkipBlanks()) {
      ++at_;
      if (--levels_ == 0) return true;
    }
    return at_ != end_;
  }

  bool ReadSeparator() {
    if (*at_ != ',') return false;
    ++at_;
    return true;
  }

  void SkipBlanks() {
    while (at_ != end_ && IsBlank(*at_)) ++at_;
  }

  const char* at_;
  const char* const end_;
  T* out_;
  T* const out_end_;
  size_t levels_ = 0;  // How many lists are open.
};

template <typename T>
const char* Fill(std::string_view text, Tensor* tensor) {
  return ListFiller<T>(text, tensor).Read();
}

// Returns the list that follows the key; "" if another value follows. It contains no strings and no objects, so it ends
// at the last bracket before the next quote or brace.
std::string_view ListAfter(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size() && (IsBlank(text[begin]) || text[begin] == ':')) ++begin;
  if (begin == text.size() || text[begin] != '[') return {};
  std::string_view list = text.substr(begin, text.find('"', begin) - begin);
  list = list.substr(0, list.find('}'));
  return list.substr(0, list.rfind(']') + 1);
}

}  // namespace

std::optional<SplitJson> SplitNumberLists(std::string_view json) {
  constexpr std::string_view kKey = "\"data\"";
  SplitJson split;
  size_t copied = 0;  // How many bytes of the text are in `rest` or in a list.
  size_t in_lists = 0;
  for (size_t at = json.find(kKey); at != json.npos; at = json.find(kKey, at + kKey.size())) {
    const std::string_view list = ListAfter(json.substr(at + kKey.size()));
    if (list.empty()) continue;
    if (split.lists.size() == kTensorsMax) return std::nullopt;
    const auto begin = static_cast<size_t>(list.data() - json.data());
    split.rest.append(json.substr(copied, begin - copied));
    split.lists.emplace(split.rest.size(), list);
    split.rest.append("[]");
    copied = begin + list.size();
    in_lists += list.size();
  }
  if (in_lists < json.size() / 2) return std::nullopt;
  split.rest.append(json.substr(copied));
  return split;
}

const char* FillFromList(std::string_view text, Tensor* tensor) {
  switch (tensor->type()) {
    case DType::kUint8: return Fill<uint8_t>(text, tensor);
    case DType::kUint16: return Fill<uint16_t>(text, tensor);
    case DType::kUint32: return Fill<uint32_t>(text, tensor);
    case DType::kUint64: return Fill<uint64_t>(text, tensor);
    case DType::kInt8: return Fill<int8_t>(text, tensor);
    case DType::kInt16: return Fill<int16_t>(text, tensor);
    case DType::kInt32: return Fill<int32_t>(text, tensor);
    case DType::kInt64: return Fill<int64_t>(text, tensor);
    case DType::kFloat: return Fill<float>(text, tensor);
    case DType::kDouble: return Fill<double>(text, tensor);
    default: return nullptr;
  }
}

}  // namespace longshore::frontend::oip::codec
