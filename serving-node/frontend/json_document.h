// A request's body as a JSON object, and what all bodies have in common.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "common/error.h"
#include "serving-node/frontend/json_reader.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::frontend {

// Of lists and objects inside of each other. What a body may nest at most and still be of use is a tensor's rank.
inline constexpr size_t kJsonDepthMax = 512;

// Where the values lie that a body can have.
class JsonBody {
 public:
  // Reads the text once, in memory that does not grow with it. InvalidArgument for a text that is no JSON object or
  // nests too deep, with TensorFlow Serving's text; bytes after the first value are ignored.
  static Result<JsonBody> Parse(std::string_view json);

  // A reader that stands on the first event of the value: the first one of the key, which must be one of kKeys.
  // nullptr when the body has none.
  std::unique_ptr<JsonReader> Find(std::string_view key) const;

  // How many numbers, strings and words there are in all, without keys.
  size_t scalars() const { return scalars_; }
  // How many elements the value of "instances" has, where it is a list.
  size_t rows() const { return rows_; }
  // The body in an error message.
  std::string ForMessage() const { return frontend::ForMessage(json_); }

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

// "signature_name", where the body has one.
Status ReadSignatureName(const JsonBody& body, tensorflow::serving::ModelSpec* spec);

}  // namespace longshore::frontend
