// Reads a valid JSON text event by event, with constant memory and without building a document. JsonBody has checked
// before that the text is valid.
//
//   JsonReader reader("[1, {\"a\": true}]");
//   reader.Next();  // kStartArray at offset 0, then kScalar 1 at 1, kStartObject at 4, kKey "a", kScalar true, ...
//
// To read a value again, create another reader at its offset.
#pragma once

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore::frontend::json {

// As in TensorFlow Serving, NaN and Infinity are accepted, and text after the first value is ignored. Parsing is
// iterative, so that deep nesting does not use up the stack.
inline constexpr unsigned kJsonFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag;

class JsonReader {
 public:
  enum class Event { kScalar, kString, kKey, kStartObject, kEndObject, kStartArray, kEndArray };

  // The text must outlive the reader. Requires that a valid value begins at the offset, possibly after blanks.
  explicit JsonReader(std::string_view json, size_t offset = 0) : json_(json), next_(offset) {}

  // Moves to the next event; returns false after the last event of the value.
  bool Next();

  Event event() const { return event_; }
  bool begins() const { return event_ == Event::kStartObject || event_ == Event::kStartArray; }
  bool ends() const { return event_ == Event::kEndObject || event_ == Event::kEndArray; }
  // The null, boolean or number of an event kScalar.
  const rapidjson::Value& scalar() const { return token_.scalar; }
  // The text of an event kString or kKey. It is valid until the next event.
  std::string_view text() const { return token_.text; }
  // The offset in the text where the token of the event begins.
  size_t offset() const { return offset_; }
  std::string_view json() const { return json_; }

  // Moves to the last event of the value whose first event is the current one.
  void SkipRest();

 private:
  // Receives one token from RapidJSON.
  struct Token : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Token> {
    bool Null() { return Take(rapidjson::Value()); }
    bool Bool(bool value) { return Take(rapidjson::Value(value)); }
    bool Int(int value) { return Take(rapidjson::Value(value)); }
    bool Uint(unsigned value) { return Take(rapidjson::Value(value)); }
    bool Int64(int64_t value) { return Take(rapidjson::Value(value)); }
    bool Uint64(uint64_t value) { return Take(rapidjson::Value(value)); }
    bool Double(double value) { return Take(rapidjson::Value(value)); }
    bool String(const char* begin, rapidjson::SizeType size, bool) { return text.assign(begin, size), true; }
    bool Take(rapidjson::Value value) { return scalar = std::move(value), true; }

    rapidjson::Value scalar;
    std::string text;
  };
  void SkipBetween();
  void ReadToken();
  void ReadNumber();

  std::string_view json_;
  size_t next_;
  size_t offset_ = 0;
  size_t depth_ = 0;
  bool is_done_ = false;
  Event event_ = Event::kScalar;
  rapidjson::Reader reader_;
  Token token_;
};

// The maximum length of a value or a name in an error message.
inline constexpr size_t kShownBytesMax = 256;
inline std::string_view Shown(std::string_view name) { return name.substr(0, kShownBytesMax); }

// Returns the value at the offset as text for an error message, at most kShownBytesMax bytes.
std::string ForMessage(std::string_view json, size_t offset = 0);
inline std::string ForMessage(const JsonReader& at) { return ForMessage(at.json(), at.offset()); }

// Returns whether the value that begins at this event is {"b64": "..."}, which stands for the bytes of a string.
bool IsBase64Object(const JsonReader& at);

// Returns TensorFlow Serving's name for the JSON type of the value that begins at this event: "Null", "Number", ...
const char* JsonTypeName(const JsonReader& at);

// Reads an object {"b64": "..."} to its end and returns its bytes. InvalidArgument if they are not valid base64.
Result<std::string> ReadBase64Object(JsonReader* reader);

}  // namespace longshore::frontend::json
