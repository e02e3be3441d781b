// POST /v1/models/NAME:predict over kept-alive HTTP/1.1 connections, asynchronously on one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "tests/load/client.h"
#include "tests/load/samples.h"

namespace longshore::load {

struct RestOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::chrono::milliseconds deadline{5000};
  // After this number of requests the client reconnects, so that new nodes get their share of the load.
  int requests_per_connection_max = 200;
  size_t connections_max = 64;  // Above this number, requests wait for a free connection.
  // Returns an IPv4 address of the host; empty: by the resolver of the system. Called again after a connection could
  // not be made, on a thread of its own.
  std::function<Result<std::string>(const std::string& host)> resolve{};
};

inline constexpr size_t kRestBodyBytesMax = size_t{16} << 20;

// `samples` must outlive the client. InvalidArgument if the host has no address.
Result<std::unique_ptr<Client>> MakeRestClient(const RestOptions& options, const Samples& samples);

// Parses "127.0.0.1:8501". InvalidArgument for any other form.
Result<RestOptions> ParseRestTarget(const std::string& target);

}  // namespace longshore::load
