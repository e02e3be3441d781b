// A valid JSON text read value by value, in memory that does not grow with it: no document is made of it. That it is
// valid has been found before, by JsonBody.
//
//   JsonReader reader("[1, {\"a\": true}]");
//   reader.Next();  // kStartArray at offset 0, then kScalar 1 at 1, kStartObject at 4, kKey "a", kScalar true, ...
//
// A value inside of the text can be read again, by another reader that begins at its offset.
#pragma once

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore::frontend {

// What TensorFlow Serving reads: NaN and Infinity are words, and what follows the first value is ignored. Iterative:
// nesting costs no stack.
inline constexpr unsigned kJsonFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag;

class JsonReader {
 public:
  enum class Event { kScalar, kString, kKey, kStartObject, kEndObject, kStartArray, kEndArray };

  // The text outlives the reader. Requires: a valid value begins at the offset, perhaps behind blanks.
  explicit JsonReader(std::string_view json, size_t offset = 0) : json_(json), next_(offset) {}

  // The next event; false after the last one of the value.
  bool Next();

  Event event() const { return event_; }
  bool begins() const { return event_ == Event::kStartObject || event_ == Event::kStartArray; }
  bool ends() const { return event_ == Event::kEndObject || event_ == Event::kEndArray; }
  // Of kScalar: null, a boolean or a number.
  const rapidjson::Value& scalar() const { return token_.scalar; }
  // Of kString and kKey, until the next event.
  std::string_view text() const { return token_.text; }
  // Where the token of the event begins.
  size_t offset() const { return offset_; }
  std::string_view json() const { return json_; }

  // Reads on to the last event of the value whose first event is this one.
  void SkipRest();

 private:
  // What the library made of one token.
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

// What an error shows of a value or a name.
inline constexpr size_t kShownBytesMax = 256;
inline std::string_view Shown(std::string_view name) { return name.substr(0, kShownBytesMax); }

// The value that begins there as text for an error message, at most 256 bytes of it.
std::string ForMessage(std::string_view json, size_t offset = 0);
inline std::string ForMessage(const JsonReader& at) { return ForMessage(at.json(), at.offset()); }

// Whether the value whose first event this is, is {"b64": "..."}: bytes of a string tensor.
bool IsBase64Object(const JsonReader& at);

// The bytes of such an object, read to its end; InvalidArgument when they are no base64.
Result<std::string> ReadBase64Object(JsonReader* reader);

}  // namespace longshore::frontend
