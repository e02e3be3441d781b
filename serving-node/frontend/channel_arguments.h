// --grpc_channel_arguments: gRPC's names for the settings of a server.
#pragma once

#include <string>

#include "common/net/http2/options.h"

namespace longshore::frontend {

// Sets the option that has this name in gRPC C++ (https://grpc.github.io/grpc/core/group__grpc__arg__keys.html).
// `argument` is "name=value". Returns false, and changes nothing, if the server has no such option or the value is not
// a number that gRPC accepts.
bool SetChannelArgument(const std::string& argument, http2::Options* options, size_t* receive_bytes_max);

}  // namespace longshore::frontend
