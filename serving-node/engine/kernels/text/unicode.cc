// Converts encoded text to code points and back, with ICU.
#include <unicode/ucnv.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>

#include <functional>
#include <memory>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

using Converter = std::unique_ptr<UConverter, decltype(&ucnv_close)>;

// Opens ICU's converter for an encoding. A name may have only letters, digits, dashes and underscores, so that it
// cannot be a path.
Result<Converter> Open(const std::string& encoding) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
  UErrorCode status = U_ZERO_ERROR;
  if (!encoding.empty() && std::ranges::all_of(encoding, is_plain)) {
    Converter converter(ucnv_open(encoding.c_str(), &status), &ucnv_close);
    if (U_SUCCESS(status)) return converter;
  }
  return InvalidArgument("unknown encoding \"{}\"", encoding);
}

Status CheckInputEncoding(const graph::Node& node) {
  const auto converter = Open(node.attributes.Text("input_encoding", "UTF-8"));
  if (!converter) return Unimplemented("{}", converter.error().message);
  return {};
}

void NoteAndSubstitute(const void* context, UConverterToUnicodeArgs* args, const char* bytes, int32_t length,
                       UConverterCallbackReason reason, UErrorCode* status) {
  if (reason <= UCNV_IRREGULAR) *static_cast<bool*>(const_cast<void*>(context)) = true;
  UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, bytes, length, reason, status);
}

// What the op does with bytes that are not a valid character, and with control characters.
struct OnError {
  std::string errors;
  UChar32 replacement = 0xFFFD;
  bool replaces_control = false;

  explicit OnError(const graph::Attributes& attributes)
      : errors(attributes.Text("errors", "replace")),
        replacement(static_cast<UChar32>(attributes.Int("replacement_char", 0xFFFD))),
        replaces_control(attributes.Bool("replace_control_characters", false)) {}
};

using AddPoint = std::function<void(UChar32 point, int64_t byte_offset)>;

// Calls `add` for each code point of the text. If the attribute `errors` is "strict", returns InvalidArgument for bytes
// that are not a valid character.
Status ForEachPoint(const std::string& text, UConverter* converter, const OnError& on_error, const AddPoint& add) {
  bool is_wrong = false;
  UErrorCode status = U_ZERO_ERROR;
  ucnv_reset(converter);
  ucnv_setToUCallBack(converter, NoteAndSubstitute, &is_wrong, nullptr, nullptr, &status);
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at < end) {
    const int64_t offset = at - text.data();
    UChar32 point = ucnv_getNextUChar(converter, &at, end, &status);
    if (U_FAILURE(status)) at = end;
    const bool is_replaced = is_wrong || (on_error.replaces_control && point <= 0x1F);
    is_wrong = false;
    if (is_replaced && on_error.errors == "strict") return InvalidArgument("Invalid formatting on input string");
    if (is_replaced && on_error.errors == "ignore") continue;
    add(is_replaced ? on_error.replacement : point, offset);
  }
  return {};
}

// Returns true for code points that can be encoded: all except surrogates.
bool IsScalar(int64_t point) { return point >= 0 && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF); }

void AppendUnit(uint32_t unit, int bytes, std::string* text) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *text += static_cast<char>(unit >> shift & 255);
}

void AppendUtf8(UChar32 point, std::string* text) {
  char bytes[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, point);
  text->append(bytes, static_cast<size_t>(length));
}

// Appends the code point to `text` in the encoding: UTF-8, UTF-16-BE or UTF-32-BE.
void Append(UChar32 point, const std::string& encoding, std::string* text) {
  if (!IsScalar(point)) point = 0xFFFD;
  if (encoding == "UTF-32-BE") return AppendUnit(static_cast<uint32_t>(point), 4, text);
  if (encoding != "UTF-16-BE") return AppendUtf8(point, text);
  if (point <= 0xFFFF) return AppendUnit(static_cast<uint32_t>(point), 2, text);
  AppendUnit(U16_LEAD(point), 2, text);
  AppendUnit(U16_TRAIL(point), 2, text);
}

Outputs Transcode(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  const auto& attributes = call.attributes();
  ASSIGN_OR_RETURN(const Converter converter, Open(attributes.Text("input_encoding", "UTF-8")));
  const OnError on_error(attributes);
  const std::string encoding = attributes.Text("output_encoding", "UTF-8");
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(0), call.in(0).shape()));
  for (int64_t i = 0; i < out.elements(); ++i) {
    const auto add = [&](UChar32 point, int64_t) { Append(point, encoding, Raw<std::string>(out) + i); };
    RETURN_IF_ERROR(ForEachPoint(Raw<std::string>(call.in(0))[i], converter.get(), on_error, add));
  }
  return One(out);
}

// Returns the row splits and the code points, and if with_offsets also the byte offset of each code point in its
// string.
Outputs DecodePoints(const Call& call, bool with_offsets) {
  RETURN_IF_ERROR(CheckTexts(call));
  const auto& attributes = call.attributes();
  ASSIGN_OR_RETURN(const Converter converter, Open(attributes.Text("input_encoding", "UTF-8")));
  const OnError on_error(attributes);
  std::vector<int32_t> points;
  std::vector<int64_t> offsets, splits = {0};
  for (const auto& text : call.in(0).values<std::string>()) {
    RETURN_IF_ERROR(ForEachPoint(text, converter.get(), on_error, [&](UChar32 point, int64_t offset) {
      points.push_back(point);
      if (with_offsets) offsets.push_back(offset);
    }));
    splits.push_back(static_cast<int64_t>(points.size()));
  }
  const auto count = static_cast<int64_t>(points.size());
  ASSIGN_OR_RETURN(const Tensor row_splits,
                   IntTensor(attributes.Type("Tsplits", DType::kInt64), {static_cast<int64_t>(splits.size())}, splits));
  std::vector<Tensor> outputs = {row_splits, Tensor::Of<int32_t>({count}, points)};
  if (with_offsets) outputs.push_back(Tensor::Of<int64_t>({count}, offsets));
  return outputs;
}

Outputs Decode(const Call& call) { return DecodePoints(call, false); }
Outputs DecodeWithOffsets(const Call& call) { return DecodePoints(call, true); }

// Returns one encoded string for each row of code points.
Outputs Encode(const Call& call) {
  ASSIGN_OR_RETURN(const auto points, AllIntsOf(call.in(0), "input_values"));
  ASSIGN_OR_RETURN(const auto splits, AllIntsOf(call.in(1), "input_splits"));
  RETURN_IF_ERROR(CheckSplits(splits, call.in(0).elements()));
  const OnError on_error(call.attributes());
  const std::string encoding = call.attributes().Text("output_encoding", "UTF-8");
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, {static_cast<int64_t>(splits.size()) - 1}));
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      const int64_t point = points[static_cast<size_t>(i)];
      const bool is_wrong = !IsScalar(point);
      if (is_wrong && on_error.errors == "strict")
        return InvalidArgument("code point {} is out of range for Unicode, or is a surrogate", point);
      if (is_wrong && on_error.errors == "ignore") continue;
      Append(is_wrong ? on_error.replacement : static_cast<UChar32>(point), encoding, Raw<std::string>(out) + row);
    }
  }
  return One(out);
}

// Returns the script of each code point, as ICU numbers them; -1 if the number is not a code point.
Outputs Script(const Call& call) {
  if (call.in(0).type() != DType::kInt32) return WrongType(call.in(0).type());
  return UnaryOf<int32_t>(call, [](int32_t point) -> int32_t {
    UErrorCode status = U_ZERO_ERROR;
    const auto script = uscript_getScript(point, &status);
    return U_SUCCESS(status) ? static_cast<int32_t>(script) : -1;
  });
}

constexpr Kernel kKernels[] = {
    {.op = "UnicodeDecode", .compute = Decode, .inputs_min = 1, .check = CheckInputEncoding},
    {.op = "UnicodeDecodeWithOffsets", .compute = DecodeWithOffsets, .inputs_min = 1, .check = CheckInputEncoding},
    {.op = "UnicodeEncode", .compute = Encode, .inputs_min = 2},
    {.op = "UnicodeScript", .compute = Script, .inputs_min = 1},
    {.op = "UnicodeTranscode", .compute = Transcode, .inputs_min = 1, .check = CheckInputEncoding},
};

}  // namespace

std::span<const Kernel> UnicodeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
