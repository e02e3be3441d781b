// The messages of the gRPC service as JSON, as Triton's REST API has them.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace longshore::frontend::oip::codec {

enum class Unset { kPrint, kOmit };  // Whether scalars with the default value are printed.

// Writes all fields under their names in the schema, 64-bit integers as numbers, and enums by name. Sub-messages that
// are not set are left out; lists and maps are printed even if they are empty, unless `unset` is kOmit. Bytes that are
// not valid UTF-8 are replaced.
std::string MessageToJson(const google::protobuf::Message& message, Unset unset = Unset::kPrint);

}  // namespace longshore::frontend::oip::codec
