#include "serving-node/frontend/json/reader.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "common/base/base64.h"

namespace longshore::frontend::json {
namespace {

// Writes JSON text and stops the parser when the text is long enough for a message.
class BoundedWriter {
 public:
  using Ch = char;
  bool Null() { return writer_.Null() && HasRoom(); }
  bool Bool(bool value) { return writer_.Bool(value) && HasRoom(); }
  bool Int(int value) { return writer_.Int(value) && HasRoom(); }
  bool Uint(unsigned value) { return writer_.Uint(value) && HasRoom(); }
  bool Int64(int64_t value) { return writer_.Int64(value) && HasRoom(); }
  bool Uint64(uint64_t value) { return writer_.Uint64(value) && HasRoom(); }
  bool Double(double value) {
    if (std::isfinite(value)) return writer_.Double(value) && HasRoom();
    const std::string_view word = std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    return writer_.RawValue(word.data(), word.size(), rapidjson::kNumberType) && HasRoom();
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool copy) {
    return writer_.RawNumber(text, length, copy) && HasRoom();
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return writer_.String(text, std::min<rapidjson::SizeType>(length, kShownBytesMax)) && HasRoom();
  }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) { return String(text, length, copy); }
  bool StartObject() { return writer_.StartObject() && HasRoom(); }
  bool EndObject(rapidjson::SizeType) { return writer_.EndObject() && HasRoom(); }
  bool StartArray() { return writer_.StartArray() && HasRoom(); }
  bool EndArray(rapidjson::SizeType) { return writer_.EndArray() && HasRoom(); }

  std::string text() const { return {buffer_.GetString(), std::min(buffer_.GetSize(), kShownBytesMax)}; }

 private:
  bool HasRoom() const { return buffer_.GetSize() < kShownBytesMax; }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

// The flags with which RapidJSON parses a single scalar or string. JsonReader itself follows lists and objects.
constexpr unsigned kTokenFlags = kJsonFlags & ~unsigned{rapidjson::kParseIterativeFlag};

// Returns whether the text begins with a number rather than a word such as NaN or -Infinity.
bool IsNumber(std::string_view text) {
  const size_t digit = text.starts_with('-') ? 1 : 0;
  return digit < text.size() && text[digit] >= '0' && text[digit] <= '9';
}

}  // namespace

bool JsonReader::Next() {
  if (is_done_) return false;
  SkipBetween();
  if (next_ >= json_.size()) return false;
  offset_ = next_;
  switch (json_[next_]) {
    case '[': event_ = Event::kStartArray; break;
    case '{': event_ = Event::kStartObject; break;
    case ']': event_ = Event::kEndArray; break;
    case '}': event_ = Event::kEndObject; break;
    default: IsNumber(json_.substr(next_)) ? ReadNumber() : ReadToken();
  }
  if (begins() || ends()) ++next_;
  if (begins()) ++depth_;
  if (ends()) --depth_;
  is_done_ = depth_ == 0;
  return true;
}

void JsonReader::SkipBetween() {
  static constexpr std::string_view kBetween = " \t\n\r,:";
  while (next_ < json_.size() && kBetween.find(json_[next_]) != kBetween.npos) ++next_;
}

void JsonReader::ReadToken() {
  const bool is_text = json_[next_] == '"';
  rapidjson::MemoryStream stream(json_.data() + next_, json_.size() - next_);
  reader_.Parse<kTokenFlags>(stream, token_);
  next_ += stream.Tell();
  event_ = Event::kScalar;
  if (!is_text) return;
  while (next_ < json_.size() && std::isspace(static_cast<unsigned char>(json_[next_]))) ++next_;
  event_ = next_ < json_.size() && json_[next_] == ':' ? Event::kKey : Event::kString;
}

// Reads a number as the integer or double nearest to the text. Does not use RapidJSON's conversion, because some texts
// violate its assertions.
void JsonReader::ReadNumber() {
  const size_t size = std::min(json_.find_first_not_of("+-.0123456789Ee", next_), json_.size()) - next_;
  const std::string_view text = json_.substr(next_, size);
  const char* end = text.data() + size;
  next_ += size;
  event_ = Event::kScalar;
  int64_t whole = 0;
  uint64_t large = 0;
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc{} && read.ptr == end) {
    token_.scalar = rapidjson::Value(whole);
  } else if (const auto more = std::from_chars(text.data(), end, large); more.ec == std::errc{} && more.ptr == end) {
    token_.scalar = rapidjson::Value(large);
  } else if (std::from_chars(text.data(), end, number).ec == std::errc{}) {
    token_.scalar = rapidjson::Value(number);
  } else {
    // The number is out of range for a double. strtod gives infinity or a number near zero.
    token_.scalar = rapidjson::Value(std::strtod(std::string(text).c_str(), nullptr));
  }
}

void JsonReader::SkipRest() {
  if (!begins()) return;
  const size_t outside = depth_ - 1;
  while (depth_ > outside && Next()) {
  }
}

std::string ForMessage(std::string_view json, size_t offset) {
  rapidjson::MemoryStream stream(json.data() + offset, json.size() - offset);
  rapidjson::Reader reader;
  BoundedWriter writer;
  reader.Parse<kJsonFlags>(stream, writer);
  return writer.text();
}

bool IsBase64Object(const JsonReader& at) {
  using Event = JsonReader::Event;
  if (at.event() != Event::kStartObject) return false;
  JsonReader reader(at.json(), at.offset());
  const auto is_next = [&](Event event) { return reader.Next() && reader.event() == event; };
  return is_next(Event::kStartObject) && is_next(Event::kKey) && reader.text() == "b64" && is_next(Event::kString) &&
         is_next(Event::kEndObject);
}

const char* JsonTypeName(const JsonReader& at) {
  static constexpr const char* kNames[] = {"Null", "False", "True", "Object", "Array", "String", "Number"};
  switch (at.event()) {
    case JsonReader::Event::kScalar: return kNames[at.scalar().GetType()];
    case JsonReader::Event::kString: return kNames[rapidjson::kStringType];
    case JsonReader::Event::kStartArray: return kNames[rapidjson::kArrayType];
    default: return kNames[rapidjson::kObjectType];
  }
}

Result<std::string> ReadBase64Object(JsonReader* reader) {
  reader->Next();  // Moves to the key.
  reader->Next();
  auto bytes = FromBase64(reader->text());
  reader->Next();  // Moves to the end of the object.
  if (!bytes) return InvalidArgument("Unable to base64 decode");
  return std::move(*bytes);
}

}  // namespace longshore::frontend::json
