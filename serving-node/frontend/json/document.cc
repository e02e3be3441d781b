#include "serving-node/frontend/json/document.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>

#include <algorithm>

namespace longshore::frontend::json {

using Stream = rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>;

// Receives RapidJSON's parse events and fills a JsonBody.
class Outline {
 public:
  Outline(const Stream& stream, JsonBody* body) : stream_(stream), body_(*body) {}

  bool Null() { return Scalar(); }
  bool Bool(bool) { return Scalar(); }
  bool Int(int) { return Scalar(); }
  bool Uint(unsigned) { return Scalar(); }
  bool Int64(int64_t) { return Scalar(); }
  bool Uint64(uint64_t) { return Scalar(); }
  bool Double(double) { return Scalar(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return Scalar(); }
  bool String(const char*, rapidjson::SizeType, bool) { return Scalar(); }
  bool Key(const char* text, rapidjson::SizeType size, bool);
  bool StartObject() { return Begin(true); }
  bool StartArray() { return Begin(false); }
  bool EndObject(rapidjson::SizeType) { return End(); }
  bool EndArray(rapidjson::SizeType) { return End(); }

  bool is_object() const { return is_object_; }
  bool is_too_deep() const { return depth_ > kJsonDepthMax; }

 private:
  bool Scalar() {
    ++body_.scalars_;
    return CountRow();
  }
  bool Begin(bool is_object) {
    if (depth_ == 0) is_object_ = is_object;
    return ++depth_ <= kJsonDepthMax;
  }
  bool End() {
    --depth_;
    return CountRow();
  }
  bool CountRow() {
    if (is_rows_ && depth_ == 2) ++body_.rows_;
    return true;
  }

  const Stream& stream_;
  JsonBody& body_;
  size_t depth_ = 0;
  bool is_object_ = false;
  bool is_rows_ = false;  // True inside the value of the first key "instances".
};

bool Outline::Key(const char* text, rapidjson::SizeType size, bool) {
  if (depth_ != 1 || !is_object_) return true;
  const auto& keys = JsonBody::kKeys;
  const auto known = std::find(keys.begin(), keys.end(), std::string_view(text, size));
  is_rows_ = false;
  if (known == keys.end()) return true;
  auto& offset = body_.offsets_[static_cast<size_t>(known - keys.begin())];
  if (offset) return true;
  offset = stream_.Tell();  // The offset of the colon after the key, or of a blank before it.
  is_rows_ = *known == "instances";
  return true;
}

namespace {

// RapidJSON takes ".", "e" or "E" after the words NaN and Infinity for a fraction or an exponent, finds no digits and
// aborts the process. Returns the offset of the first such word in the first value of the text, outside of strings.
std::optional<size_t> WordWithExponent(std::string_view json) {
  if (json.find("NaN") == json.npos && json.find("Inf") == json.npos) return std::nullopt;
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_text = !in_text;
    if (in_text && c == '\\') ++i;
    if (in_text) continue;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth-- <= 1) break;
    for (const std::string_view word : {"NaN", "Infinity", "Inf"}) {
      const auto after = json.substr(i).starts_with(word) ? json.substr(i + word.size()) : std::string_view();
      if (after.starts_with('.') || after.starts_with('e') || after.starts_with('E')) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<JsonBody> JsonBody::Parse(std::string_view json) {
  if (json.empty()) return InvalidArgument("JSON Parse error: The document is empty");
  if (const auto word = WordWithExponent(json)) {
    return InvalidArgument("JSON Parse error: Invalid value. at offset: {}", *word);
  }
  JsonBody body(json);
  rapidjson::MemoryStream bytes(json.data(), json.size());
  Stream stream(bytes);
  Outline outline(stream, &body);
  rapidjson::Reader reader;
  reader.Parse<kJsonFlags | rapidjson::kParseNumbersAsStringsFlag>(stream, outline);
  if (outline.is_too_deep()) return InvalidArgument("Values are nested more than {} levels deep", kJsonDepthMax);
  if (reader.HasParseError()) {
    // TensorFlow Serving's RapidJSON writes "] after" where newer ones write "']' after".
    std::string why = rapidjson::GetParseError_En(reader.GetParseErrorCode());
    std::erase(why, '\'');
    return InvalidArgument("JSON Parse error: {} at offset: {}", why, reader.GetErrorOffset());
  }
  if (!outline.is_object()) return InvalidArgument("JSON Value: {} Is not object", body.ForMessage());
  return body;
}

std::unique_ptr<JsonReader> JsonBody::Find(std::string_view key) const {
  const auto known = std::find(kKeys.begin(), kKeys.end(), key);
  CHECK(known != kKeys.end());
  const auto& offset = offsets_[static_cast<size_t>(known - kKeys.begin())];
  if (!offset) return nullptr;
  auto reader = std::make_unique<JsonReader>(json_, *offset);
  reader->Next();
  return reader;
}

Status ReadSignatureName(const JsonBody& body, tensorflow::serving::ModelSpec* spec) {
  const auto found = body.Find("signature_name");
  if (!found) return {};
  if (found->event() != JsonReader::Event::kString) {
    return InvalidArgument("JSON Value: {} not formatted correctly. 'signature_name' key must be a string value.",
                           body.ForMessage());
  }
  spec->set_signature_name(std::string(found->text()));
  return {};
}

}  // namespace longshore::frontend::json
