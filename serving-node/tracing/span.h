// Spans as messages of OTLP, and the attributes of OpenTelemetry's semantic conventions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "opentelemetry/trace.pb.h"
#include "serving-node/tracing/context.h"

namespace longshore::tracing {

using Span = opentelemetry::proto::trace::v1::Span;
using Attributes = google::protobuf::RepeatedPtrField<opentelemetry::proto::common::v1::KeyValue>;

// Longer texts are cut: a client chooses some of them, such as the name of a model.
inline constexpr size_t kTextBytesMax = 256;

// Adds an attribute. The text becomes valid UTF-8 of at most kTextBytesMax bytes.
void AddText(std::string_view key, std::string_view text, Attributes* attributes);
void AddNumber(std::string_view key, int64_t number, Attributes* attributes);

// The bytes of ids in OTLP, big-endian.
std::string BytesOf(const TraceId& id);
std::string BytesOf(uint64_t span_id);

// Sets the status error, with the name of the code. The message of the error is left out, because it may contain data
// of the client.
void SetError(Code code, Span* span);

// Whether a server span with this status code of gRPC is an error. The other codes are mistakes of clients
// (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/).
bool IsServerError(Code code);

}  // namespace longshore::tracing
