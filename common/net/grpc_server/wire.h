// The texts of gRPC over HTTP/2 (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore::grpc_server {

// Parses the value of grpc-timeout, such as "100m" (milliseconds). Returns nullopt if it is malformed. At most a year,
// so that the sum with any time does not overflow.
std::optional<std::chrono::steady_clock::duration> ParseTimeout(std::string_view text);

// Returns the text with "%XX" for each byte that the header grpc-message cannot have. Longer texts than
// kMessageBytesMax are cut.
std::string EncodeMessage(std::string_view text);
inline constexpr size_t kMessageBytesMax = 1024;

// Returns the value of the header grpc-status: "5" for kNotFound. The text is a constant.
std::string_view StatusText(Code code);

// Whether the value of content-type is "application/grpc", also with a format such as "+proto" or with parameters.
bool IsGrpcContentType(std::string_view value);

// Whether the metadata with this name have binary values, in Base64.
inline bool IsBinary(std::string_view name) { return name.ends_with("-bin"); }

}  // namespace longshore::grpc_server
