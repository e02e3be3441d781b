#include "serving-node/tensor/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace longshore::tensor {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // The header is padded to a multiple of this, as numpy does.
constexpr size_t kCodePointBytes = 4;

struct TypeCode {
  std::string_view code;  // For example "f4" for "<f4".
  DType type;
};
constexpr std::array<TypeCode, 13> kTypeCodes = {{{"b1", DType::kBool},
                                                  {"i1", DType::kInt8},
                                                  {"u1", DType::kUint8},
                                                  {"i2", DType::kInt16},
                                                  {"u2", DType::kUint16},
                                                  {"i4", DType::kInt32},
                                                  {"u4", DType::kUint32},
                                                  {"i8", DType::kInt64},
                                                  {"u8", DType::kUint64},
                                                  {"f2", DType::kHalf},
                                                  {"f4", DType::kFloat},
                                                  {"f8", DType::kDouble},
                                                  {"c8", DType::kComplex64}}};

struct Header {
  std::string descr;  // "<f4"
  bool is_fortran = false;
  Shape shape;
  size_t bytes = 0;  // The offset of the data.
};

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Returns the text after 'key': in the header, which is a Python dictionary literal. The result is empty if the key is
// missing.
std::string_view ValueOf(std::string_view dictionary, std::string_view key) {
  const size_t at = dictionary.find(fmt::format("'{}'", key));
  if (at == dictionary.npos) return "";
  std::string_view value = dictionary.substr(at + key.size() + 2);
  const size_t begin = value.find_first_not_of(" :");
  return begin == value.npos ? "" : value.substr(begin);
}

std::optional<Shape> ParseShape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  Shape shape;
  for (text.remove_prefix(1); !text.starts_with(')');) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0 || shape.size() == kRankMax) return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(" ,L"), text.size()));
  }
  return shape;
}

// Returns the text of the header, and the offset of the data.
Result<std::pair<std::string_view, size_t>> HeaderText(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) return InvalidArgument("it is not a .npy file");
  const int version = bytes[6];
  if (version != 1 && version != 2) return InvalidArgument("it is a .npy file of version {}, not 1 or 2", version);
  const size_t size_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + size_bytes;
  if (bytes.size() < begin) return DataLoss("it ends within its header");
  const size_t size = LittleEndian(bytes.substr(8, size_bytes));
  if (bytes.size() - begin < size) return DataLoss("it ends within its header");
  return std::pair{bytes.substr(begin, size), begin + size};
}

Result<Header> ParseHeader(std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto text, HeaderText(bytes));
  Header header;
  header.bytes = text.second;
  const std::string_view descr = ValueOf(text.first, "descr");
  if (descr.starts_with('[')) return InvalidArgument("it holds records; save each field separately");
  if (!descr.starts_with('\'')) return InvalidArgument("its header has no type");
  header.descr = descr.substr(1, descr.substr(1).find('\''));
  header.is_fortran = ValueOf(text.first, "fortran_order").starts_with("True");
  const auto shape = ParseShape(ValueOf(text.first, "shape"));
  if (!shape) return InvalidArgument("its header has no valid shape");
  header.shape = *shape;
  return header;
}

std::optional<DType> TypeOf(std::string_view code) {
  const auto found = std::ranges::find(kTypeCodes, code, &TypeCode::code);
  if (found == kTypeCodes.end() || code.empty()) return std::nullopt;
  return found->type;
}

Status CheckDescr(const Header& header) {
  const std::string& descr = header.descr;
  if (descr.find('O') != descr.npos) {
    return InvalidArgument(
        "it holds Python objects; save strings as numpy.array(texts, dtype=\"S\"), or pass them as JSON with --inputs");
  }
  if (descr.starts_with('>')) {
    return InvalidArgument("its numbers ({}) are big-endian; save x.astype(\"<{}\")", descr, descr.substr(1));
  }
  if (header.is_fortran && header.shape.size() > 1)
    return InvalidArgument("it is in Fortran order; save numpy.ascontiguousarray(x)");
  return {};
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

Result<std::string> Utf8(std::string_view units) {
  std::string text;
  size_t end = units.size();
  while (end > 0 && LittleEndian(units.substr(end - kCodePointBytes, kCodePointBytes)) == 0) end -= kCodePointBytes;
  for (size_t i = 0; i < end; i += kCodePointBytes) {
    const uint32_t code = LittleEndian(units.substr(i, kCodePointBytes));
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return InvalidArgument("a text is not valid Unicode");
    AppendUtf8(code, &text);
  }
  return text;
}

Result<Tensor> ParseTexts(const Header& header, std::string_view data) {
  const bool is_unicode = header.descr[1] == 'U';
  size_t size = 0;
  const char* end = header.descr.data() + header.descr.size();
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(header.shape));
  const bool is_empty = count == 0 && data.empty();
  if (std::from_chars(header.descr.data() + 2, end, size).ptr != end || (size > data.size() && !is_empty))
    return DataLoss("its texts ({}) are longer than the file", header.descr);
  if (is_empty) return Tensor::Make(DType::kString, header.shape);
  if (is_unicode) size *= kCodePointBytes;
  // Without this check, a header could announce any number of texts of size 0 in a small file.
  if (size == 0 || data.size() % size != 0 || data.size() / size != static_cast<size_t>(count))
    return DataLoss("it has {} bytes of data, which is not {} texts of {} bytes", data.size(), count, size);
  ASSIGN_OR_RETURN(Tensor texts, Tensor::Make(DType::kString, header.shape));
  for (std::string& text : texts.mutable_values<std::string>()) {
    const std::string_view raw = data.substr(0, size);
    data.remove_prefix(size);
    if (is_unicode) {
      ASSIGN_OR_RETURN(text, Utf8(raw));
    } else {
      text = raw.substr(0, raw.find_last_not_of('\0') + 1);
    }
  }
  return texts;
}

Result<Tensor> ParseNumbers(const Header& header, DType type, std::string_view data) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(header.shape));
  const size_t element_bytes = ElementBytes(type);
  if (data.size() % element_bytes != 0 || data.size() / element_bytes != static_cast<size_t>(count)) {
    return DataLoss("it has {} bytes of data, which is not {} elements of {} bytes", data.size(), count, element_bytes);
  }
  ASSIGN_OR_RETURN(Tensor numbers, Tensor::Make(type, header.shape));
  if (!data.empty()) std::memcpy(numbers.mutable_data(), data.data(), data.size());
  const auto is_bool = [](char byte) { return byte == 0 || byte == 1; };
  if (type == DType::kBool && !std::ranges::all_of(data, is_bool)) return InvalidArgument("a bool is neither 0 nor 1");
  return numbers;
}

std::string HeaderFor(const std::string& descr, const Shape& shape) {
  std::string sizes;
  for (const int64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ').push_back('\n');
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return bytes + header;
}

Result<std::string> TextsToNpy(const Tensor& tensor) {
  size_t longest = 1;
  for (const std::string& text : tensor.values<std::string>()) {
    if (text.ends_with('\0'))
      return Unimplemented("a text ends with a zero byte, which .npy loses; print JSON instead");
    longest = std::max(longest, text.size());
  }
  std::string bytes = HeaderFor(fmt::format("|S{}", longest), tensor.shape());
  for (const std::string& text : tensor.values<std::string>()) bytes.append(text).append(longest - text.size(), '\0');
  return bytes;
}

}  // namespace

Result<Tensor> ParseNpy(std::string_view bytes) {
  ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes));
  RETURN_IF_ERROR(CheckDescr(header));
  const std::string_view data = bytes.substr(header.bytes);
  const std::string_view code = std::string_view(header.descr).substr(std::min<size_t>(1, header.descr.size()));
  if (code.starts_with('S') || code.starts_with('U')) return ParseTexts(header, data);
  if (const auto type = TypeOf(code)) return ParseNumbers(header, *type, data);
  return InvalidArgument("its type {} is not supported", header.descr);
}

DType TypeInNpy(DType type) {
  switch (type) {
    case DType::kQint8: return DType::kInt8;
    case DType::kQuint8: return DType::kUint8;
    case DType::kQint16: return DType::kInt16;
    case DType::kQuint16: return DType::kUint16;
    case DType::kQint32: return DType::kInt32;
    default: return type;
  }
}

Result<std::string> ToNpy(const Tensor& tensor) {
  if (tensor.type() == DType::kString) return TextsToNpy(tensor);
  const auto found = std::ranges::find(kTypeCodes, TypeInNpy(tensor.type()), &TypeCode::type);
  if (found == kTypeCodes.end() || found->code.empty())
    return Unimplemented(".npy cannot store {}; print JSON instead", DTypeName(tensor.type()));
  const char order = ElementBytes(tensor.type()) == 1 ? '|' : '<';
  std::string bytes = HeaderFor(fmt::format("{}{}", order, found->code), tensor.shape());
  return bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
}

}  // namespace longshore::tensor
