#include "serving-node/frontend/json/numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "serving-node/frontend/json/tensor.h"
#include "serving-node/inference/inference.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend::json {
namespace {

using tensor::DType;

constexpr size_t kLevelsMax = 16;

// The contents of a body whose only keys are "signature_name" and either "instances" or "inputs", each at most once.
struct NumbersBody {
  std::string_view form;  // "instances" or "inputs".
  std::string_view list;  // The value of that key, from its first bracket to its last.
  std::string signature;
};

class NumbersBodyReader {
 public:
  explicit NumbersBodyReader(std::string_view json) : rest_(json) {}

  std::optional<NumbersBody> Read() {
    if (!Take('{')) return std::nullopt;
    do {
      std::string_view key;
      if (!TakeText(&key) || !Take(':') || !TakeValue(key)) return std::nullopt;
    } while (Take(','));
    if (!Take('}') || body_.list.empty()) return std::nullopt;
    return std::move(body_);
  }

 private:
  bool TakeValue(std::string_view key) {
    if (key == "signature_name") {
      std::string_view name;
      if (std::exchange(is_named_, true) || !TakeText(&name)) return false;
      body_.signature = name;
      return true;
    }
    if ((key != "instances" && key != "inputs") || !body_.form.empty()) return false;
    body_.form = key == "inputs" ? "inputs" : "instances";
    return TakeList();
  }

  bool Take(char wanted) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Takes a string. Returns false if it has escapes.
  bool TakeText(std::string_view* text) {
    if (!Take('"')) return false;
    const size_t end = rest_.find('"');
    if (end == rest_.npos) return false;
    *text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c != '\\'; });
  }

  // Takes a list of numbers. It contains no strings or objects, so it ends at the last bracket before the next quote or
  // brace.
  bool TakeList() {
    if (!Take('[')) return false;
    const char* begin = rest_.data() - 1;
    const size_t limit = std::min({rest_.find('"'), rest_.find('}'), rest_.size()});
    const size_t last = rest_.substr(0, limit).rfind(']');
    if (last == rest_.npos) return false;
    body_.list = {begin, last + 2};
    rest_.remove_prefix(last + 1);
    return true;
  }

  std::string_view rest_;
  NumbersBody body_;
  bool is_named_ = false;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A parsed JSON number: mantissa * 10^exponent.
struct Literal {
  const char* begin;
  const char* end;
  bool is_negative = false;
  bool is_whole = true;  // It has neither a fraction nor an exponent.
  int digits = 0;
  uint64_t mantissa = 0;  // Meaningless with more than 19 digits.
  int64_t exponent = 0;   // The power of ten.
};

// Returns whether all eight characters are digits. The first character is in the lowest byte.
bool AreDigits(uint64_t eight) {
  constexpr uint64_t kHigh = 0xf0f0f0f0f0f0f0f0;
  return ((eight & kHigh) | (((eight + 0x0606060606060606) & kHigh) >> 4)) == 0x3333333333333333;
}

// Returns the number that eight digits stand for. Combines them into four numbers of two digits, then into two of four
// digits, and then into one of eight.
uint64_t ValueOf(uint64_t eight) {
  eight = (eight & 0x0f0f0f0f0f0f0f0f) * (10 * 256 + 1) >> 8;
  eight = (eight & 0x00ff00ff00ff00ff) * (100 * 65536 + 1) >> 16;
  return (eight & 0x0000ffff0000ffff) * ((uint64_t{10000} << 32) + 1) >> 32;
}

// Reads the digits at `at` into the mantissa and returns the position after them. Requires that the bytes up to `end`
// are readable, and that a byte that is not a digit follows the digits.
const char* TakeDigits(const char* at, const char* end, Literal* literal) {
  static_assert(std::endian::native == std::endian::little);
  const char* begin = at;
  for (uint64_t eight = 0; end - at >= 8; at += 8) {
    std::memcpy(&eight, at, sizeof eight);
    if (!AreDigits(eight)) break;
    literal->mantissa = literal->mantissa * 100'000'000 + ValueOf(eight);
  }
  for (; IsDigit(*at); ++at) literal->mantissa = literal->mantissa * 10 + static_cast<uint64_t>(*at - '0');
  literal->digits += static_cast<int>(at - begin);
  return at;
}

// Reads the number at `at`. Returns false if the text there is not a valid number. Requires that before `end` a byte
// follows that cannot be part of a number.
bool ReadLiteral(const char* at, const char* end, Literal* literal) {
  literal->begin = at;
  literal->is_negative = *at == '-';
  if (literal->is_negative) ++at;
  const char* first = at;
  for (; IsDigit(*at); ++at) literal->mantissa = literal->mantissa * 10 + static_cast<uint64_t>(*at - '0');
  literal->digits = static_cast<int>(at - first);
  if (at == first || (*first == '0' && at - first > 1)) return false;
  if (*at == '.') {
    first = ++at;
    at = TakeDigits(at, end, literal);
    if (at == first) return false;
    literal->exponent = first - at;
    literal->is_whole = false;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    const bool is_down = *at == '-';
    if (is_down || *at == '+') ++at;
    first = at;
    int64_t power = 0;
    for (; IsDigit(*at); ++at) power = std::min<int64_t>(power * 10 + (*at - '0'), 1'000'000);
    if (at == first) return false;
    literal->exponent += is_down ? -power : power;
    literal->is_whole = false;
  }
  literal->end = at;
  return true;
}

// Multiplies or divides the mantissa by a power of ten. If a double holds the mantissa exactly, the result is the
// double nearest to the text; otherwise its error is at most two ULPs. Returns false if a double cannot hold the power
// exactly, or if the mantissa has more than 19 digits.
bool Scale(const Literal& literal, double* value) {
  static constexpr std::array kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                         1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr auto kPowerMax = static_cast<int64_t>(kPowers.size()) - 1;
  if (literal.digits > 19 || literal.exponent < -kPowerMax || literal.exponent > kPowerMax) return false;
  const auto digits = static_cast<double>(literal.mantissa);
  const double power = kPowers[static_cast<size_t>(std::abs(literal.exponent))];
  *value = literal.exponent < 0 ? digits / power : digits * power;
  if (literal.is_negative) *value = -*value;
  return true;
}

// Sets `value` to the double nearest to the text. Uses Scale if its result is exactly that, and the standard library
// otherwise.
bool ToReal(const Literal& literal, double* value) {
  constexpr uint64_t kExactMax = uint64_t{1} << std::numeric_limits<double>::digits;
  if (literal.mantissa <= kExactMax && Scale(literal, value)) return true;
  const auto [end, error] = std::from_chars(literal.begin, literal.end, *value);
  return error == std::errc{} && end == literal.end;
}

// Sets `value` to the float nearest to the double nearest to the text. Scale is fast, but its error of up to two ULPs
// can change the float if its double is near the midpoint between two floats: if the 29 lowest mantissa bits of the
// double, which a float does not have, are near 2^28. Only then, the exact double is computed. Subnormal floats have
// fewer bits, but no result of Scale is so small.
bool ToReal(const Literal& literal, float* value) {
  constexpr uint64_t kHalf = uint64_t{1} << 28;
  constexpr uint64_t kStepsMax = 4;
  double near = 0;
  if (Scale(literal, &near)) {
    const uint64_t rest = std::bit_cast<uint64_t>(near) & (2 * kHalf - 1);
    *value = static_cast<float>(near);
    if (rest + kStepsMax < kHalf || rest > kHalf + kStepsMax) return true;
  }
  double nearest = 0;
  if (!ToReal(literal, &nearest)) return false;
  *value = static_cast<float>(nearest);
  return true;
}

template <typename T>
bool ToNumber(const Literal& literal, T* number) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!ToReal(literal, number)) return false;
    if (literal.is_whole && *number == 0) *number = 0;  // A JsonReader reads "-0" as an integer, which has no sign.
    return true;
  } else {
    int64_t value = 0;
    if (!literal.is_whole || std::from_chars(literal.begin, literal.end, value).ec != std::errc{}) return false;
    const bool fits = value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
    if (sizeof(T) < sizeof value && !fits) return false;
    *number = static_cast<T>(value);  // Small types wrap around, as in TensorFlow Serving.
    return true;
  }
}

// An upper bound of the number of elements in the list: the number of commas plus one.
size_t ElementsOf(std::string_view list) {
  constexpr size_t kBlock = 64;  // A fixed size and a counter of one byte let the compiler vectorize the loop.
  size_t elements = 1;
  size_t at = 0;
  for (; at + kBlock <= list.size(); at += kBlock) {
    const char* block = list.data() + at;
    uint8_t commas = 0;
    for (size_t i = 0; i < kBlock; ++i) commas = static_cast<uint8_t>(commas + (block[i] == ',' ? 1 : 0));
    elements += commas;
  }
  return elements + static_cast<size_t>(std::ranges::count(list.substr(at), ','));
}

// Parses nested lists of numbers of one type into `content`, in the memory layout of a tensor.
template <typename T>
class ListReader {
 public:
  // Requires that the list begins and ends with a bracket, and has at most `elements` elements.
  ListReader(std::string_view list, size_t elements, std::string* content)
      : at_(list.data()), end_(list.data() + list.size()), content_(*content) {
    // Allocated only once, because growing would need twice the memory.
    content_.resize(elements * sizeof(T));
    number_ = content_.data();
  }

  // Returns false if a list is empty, ragged or nested too deeply, if an element is not a number of type T, or if text
  // follows the list.
  bool Read() {
    if (!ReadLevel(0) || at_ != end_) return false;
    content_.resize(static_cast<size_t>(number_ - content_.data()));
    return true;
  }

  tensor::Shape shape() const { return {sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(levels_)}; }

 private:
  // Reads a list at this level. The last byte of the text is a bracket, so after any other byte there is another byte
  // to read.
  bool ReadLevel(size_t level) {
    if (level == kLevelsMax) return false;
    int64_t size = 0;
    do {
      ++at_;  // Skips the bracket or the comma.
      SkipBlanks();
      if (!ReadElement(level)) return false;
      ++size;
      SkipBlanks();
      if (at_ == end_) return false;
    } while (*at_ == ',');
    if (*at_ != ']' || (sizes_[level] != 0 && sizes_[level] != size)) return false;
    ++at_;
    sizes_[level] = size;
    return true;
  }

  bool ReadElement(size_t level) {
    if (*at_ == '[') return (levels_ == 0 || level + 1 < levels_) && ReadLevel(level + 1);
    if (levels_ == 0) levels_ = level + 1;
    Literal literal;
    T number{};
    if (level + 1 != levels_ || !ReadLiteral(at_, end_, &literal) || !ToNumber(literal, &number)) return false;
    at_ = literal.end;
    // There is room in content_: numbers are separated by commas, so there are at most `elements` numbers.
    std::memcpy(number_, &number, sizeof number);
    number_ += sizeof number;
    return true;
  }

  void SkipBlanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* const end_;
  std::string& content_;
  char* number_ = nullptr;  // Where the next number is written.
  size_t levels_ = 0;       // How deeply the numbers are nested; 0 before the first number.
  std::array<int64_t, kLevelsMax> sizes_{};
};

template <typename T>
std::optional<tensor::Tensor> ReadTensor(DType type, std::string_view list, size_t elements) {
  std::string content;
  ListReader<T> reader(list, elements, &content);
  if (!reader.Read()) return std::nullopt;
  return TensorOf(type, reader.shape(), std::move(content));
}

std::optional<tensor::Tensor> ReadAs(DType type, std::string_view list, size_t elements) {
  switch (type) {
    case DType::kFloat: return ReadTensor<float>(type, list, elements);
    case DType::kDouble: return ReadTensor<double>(type, list, elements);
    case DType::kInt32: return ReadTensor<int32_t>(type, list, elements);
    case DType::kInt64: return ReadTensor<int64_t>(type, list, elements);
    case DType::kUint8: return ReadTensor<uint8_t>(type, list, elements);
    case DType::kInt8: return ReadTensor<int8_t>(type, list, elements);
    default: return std::nullopt;
  }
}

}  // namespace

template <typename T>
const char* TakeReal(const char* at, const char* end, T* value) {
  Literal literal;
  return ReadLiteral(at, end, &literal) && ToNumber(literal, value) ? literal.end : nullptr;
}
template const char* TakeReal(const char* at, const char* end, float* value);
template const char* TakeReal(const char* at, const char* end, double* value);

std::optional<Prediction> NumbersFromJson(std::string_view body, const FindSignature& find_signature,
                                          size_t elements_max) {
  auto parsed = NumbersBodyReader(body).Read();
  if (!parsed) return std::nullopt;
  const size_t elements = ElementsOf(parsed->list);
  // Each number takes at least two bytes with its comma. A list with more commas is invalid and must not get memory.
  if (elements > std::min(elements_max, parsed->list.size() / 2)) return std::nullopt;
  const auto signature = find_signature(inference::SignatureName(parsed->signature));
  if (!signature || (*signature)->inputs_size() != 1) return std::nullopt;
  const auto& [name, info] = *(*signature)->inputs().begin();
  auto read = ReadAs(tensor::FromProto(info.dtype()), parsed->list, elements);
  if (!read) return std::nullopt;
  return Prediction{.form = parsed->form == "instances" ? JsonForm::kRow : JsonForm::kColumnar,
                    .signature_name = std::move(parsed->signature),
                    .inputs = {{name, std::move(*read)}}};
}

}  // namespace longshore::frontend::json
