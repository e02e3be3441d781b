#include "serving-node/frontend/channel_arguments.h"

#include <gtest/gtest.h>

#include <limits>

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;

TEST(ChannelArguments, SetTheOptionsThatTheServerHas) {
  http2::Options options;
  size_t receive_bytes_max = 1;
  for (const char* argument :
       {"grpc.max_concurrent_streams=7", "grpc.max_metadata_size=8", "grpc.max_connection_age_ms=9",
        "grpc.max_connection_age_grace_ms=10", "grpc.max_connection_idle_ms=11", "grpc.keepalive_time_ms=12",
        "grpc.keepalive_timeout_ms=13", "grpc.server_handshake_timeout_ms=14",
        "grpc.http2.min_ping_interval_without_data_ms=15", "grpc.max_receive_message_length=16"}) {
    EXPECT_TRUE(SetChannelArgument(argument, &options, &receive_bytes_max)) << argument;
  }
  EXPECT_EQ(options.limits.streams_max, 7u);
  EXPECT_EQ(options.limits.header_bytes_max, 8u);
  EXPECT_EQ(options.connection_age_max, milliseconds(9));
  EXPECT_EQ(options.connection_age_grace, milliseconds(10));
  EXPECT_EQ(options.idle_timeout, milliseconds(11));
  EXPECT_EQ(options.keepalive_time, milliseconds(12));
  EXPECT_EQ(options.keepalive_timeout, milliseconds(13));
  EXPECT_EQ(options.handshake_timeout, milliseconds(14));
  EXPECT_EQ(options.limits.ping_interval_min, milliseconds(15));
  EXPECT_EQ(receive_bytes_max, 16u);
}

TEST(ChannelArguments, TheLargestTimeMeansNeverAndMinusOneAnySize) {
  http2::Options options;
  options.connection_age_max = milliseconds(1);
  size_t receive_bytes_max = 1;
  EXPECT_TRUE(SetChannelArgument("grpc.max_connection_age_ms=2147483647", &options, &receive_bytes_max));
  EXPECT_EQ(options.connection_age_max.count(), 0);
  EXPECT_TRUE(SetChannelArgument("grpc.max_receive_message_length=-1", &options, &receive_bytes_max));
  EXPECT_EQ(receive_bytes_max, static_cast<size_t>(std::numeric_limits<int>::max()));
}

TEST(ChannelArguments, UnknownNamesAndWrongValuesHaveNoEffect) {
  http2::Options options;
  size_t receive_bytes_max = 1;
  for (const char* argument : {"grpc.no_such=1", "grpc.max_concurrent_streams=", "grpc.max_concurrent_streams=many",
                               "grpc.max_concurrent_streams=-1", "grpc.max_concurrent_streams=1x", "=1",
                               "grpc.max_receive_message_length=-2"}) {
    EXPECT_FALSE(SetChannelArgument(argument, &options, &receive_bytes_max)) << argument;
  }
  EXPECT_EQ(options.limits.streams_max, http2::Limits().streams_max);
  EXPECT_EQ(receive_bytes_max, 1u);
}

}  // namespace
}  // namespace longshore::frontend
