// The outline of the body of a REST request: the positions of its top-level values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/frontend/json/reader.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend::json {

// The maximum nesting of lists and objects, under any key. Only values under unknown keys can be nested as deeply and
// valid; the rank of a tensor is limited. RapidJSON's parser needs 8 bytes per level, and no stack.
inline constexpr size_t kJsonDepthMax = 1'000'000;

// The positions in a body of the values of the keys in kKeys.
class JsonBody {
 public:
  // Reads the text once, with memory for its nesting only. InvalidArgument, with TensorFlow Serving's message, if the
  // text is not a JSON object or is nested too deeply. Bytes after the first value are ignored. The text must outlive
  // the result.
  static Result<JsonBody> Parse(std::string_view json);

  // Returns a reader that is on the first event of the key's value, or of the first value if the key occurs twice;
  // nullptr if the body does not have the key. Requires that the key is in kKeys.
  std::unique_ptr<JsonReader> Find(std::string_view key) const;

  // The number of scalars (numbers, strings, true, false, null) in the body, without keys.
  size_t scalars() const { return scalars_; }
  // The number of elements of "instances" if that is a list.
  size_t rows() const { return rows_; }
  // The body, shortened for an error message.
  std::string ForMessage() const { return json::ForMessage(json_); }

  static constexpr std::array<std::string_view, 5> kKeys = {"signature_name", "instances", "inputs", "examples",
                                                            "context"};

 private:
  friend class Outline;
  explicit JsonBody(std::string_view json) : json_(json) {}

  std::string_view json_;
  std::array<std::optional<size_t>, kKeys.size()> offsets_;
  size_t scalars_ = 0;
  size_t rows_ = 0;
};

// Sets the signature name to the value of "signature_name", if the body has it.
Status ReadSignatureName(const JsonBody& body, tensorflow::serving::ModelSpec* spec);

}  // namespace longshore::frontend::json
