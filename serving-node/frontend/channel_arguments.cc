#include "serving-node/frontend/channel_arguments.h"

#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

namespace longshore::frontend {
namespace {

using http2::milliseconds;

// gRPC's settings are numbers of the type int. The largest time means "never".
std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A limit of time of the connection, where 0 means "none" here.
milliseconds LimitOf(int ms) { return milliseconds(ms == std::numeric_limits<int>::max() ? 0 : ms); }

using Set = void (*)(int value, http2::Options& options);
const std::map<std::string_view, Set> kOptions = {
    {"grpc.max_concurrent_streams",
     [](int value, http2::Options& options) { options.limits.streams_max = static_cast<uint32_t>(value); }},
    {"grpc.max_metadata_size",
     [](int value, http2::Options& options) { options.limits.header_bytes_max = static_cast<size_t>(value); }},
    {"grpc.max_connection_age_ms",
     [](int value, http2::Options& options) { options.connection_age_max = LimitOf(value); }},
    {"grpc.max_connection_age_grace_ms",
     [](int value, http2::Options& options) { options.connection_age_grace = milliseconds(value); }},
    {"grpc.max_connection_idle_ms", [](int value, http2::Options& options) { options.idle_timeout = LimitOf(value); }},
    {"grpc.keepalive_time_ms",
     [](int value, http2::Options& options) { options.keepalive_time = milliseconds(value); }},
    {"grpc.keepalive_timeout_ms",
     [](int value, http2::Options& options) { options.keepalive_timeout = milliseconds(value); }},
    {"grpc.server_handshake_timeout_ms",
     [](int value, http2::Options& options) { options.handshake_timeout = milliseconds(value); }},
    {"grpc.http2.min_ping_interval_without_data_ms",
     [](int value, http2::Options& options) { options.limits.ping_interval_min = milliseconds(value); }},
};

}  // namespace

bool SetChannelArgument(const std::string& argument, http2::Options* options, size_t* receive_bytes_max) {
  const std::string_view text = argument;
  const std::string_view name = text.substr(0, text.find('='));
  const auto value = NumberIn(text.substr(name.size() + 1));
  if (!value) return false;
  if (name == "grpc.max_receive_message_length" && *value >= -1) {  // -1: no limit.
    *receive_bytes_max = *value == -1 ? std::numeric_limits<int>::max() : static_cast<size_t>(*value);
    return true;
  }
  const auto option = kOptions.find(name);
  if (option == kOptions.end() || *value < 0) return false;
  option->second(*value, *options);
  return true;
}

}  // namespace longshore::frontend
