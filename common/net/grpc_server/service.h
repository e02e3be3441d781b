// What a gRPC server offers: its methods, and which calls it admits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/error.h"
#include "common/net/http2/options.h"

namespace longshore::grpc_server {

class Call;

// Handles one call. Runs on a thread of the server, so it must not block. The call ends with Call::Finish, on any
// thread. If the handler throws, the call ends with RESOURCE_EXHAUSTED if memory ran out, otherwise with INTERNAL.
using Handler = std::function<void(const std::shared_ptr<Call>& call)>;

struct Method {
  enum class Kind {
    kUnary,      // The handler is called when the request is complete.
    kStreaming,  // The handler is called when the head is complete, and reads and writes messages.
  };
  Kind kind = Kind::kUnary;
  Handler handler;
  // Only for a unary method. Called when the head is complete. May end the call, which is then answered without its
  // body, and does not reach `handler`. If it is empty, the body of every call is read.
  Handler on_head = {};
};

// What a gate sees of a call. The texts are valid only until the gate returns.
struct CallHead {
  std::string_view path;           // "/tensorflow.serving.PredictionService/Predict"
  std::string_view authorization;  // The value of the header; "" if it is missing.
  const http2::Peer& peer;

  // Whether the caller's verified certificate has this DNS name.
  bool HasDnsName(std::string_view name) const {
    return std::ranges::find(peer.dns_names, name) != peer.dns_names.end();
  }
};

// Decides from the head whether a call is admitted, before its body is read and before its method is known. If it
// returns an error, this error is the answer. A call with several authorization headers gets UNAUTHENTICATED and does
// not reach the gate. Runs on a thread of the server, so it must not block.
using Gate = std::function<Status(const CallHead& head)>;

// Thread-safe while it is not changed. Must not change after the server has started.
class Service {
 public:
  // `path`: "/package.Service/Method".
  void Add(std::string path, Method method) { methods_[std::move(path)] = std::move(method); }
  // Returns null if the path names no method of the service.
  const Method* Find(std::string_view path) const {
    const auto found = methods_.find(path);
    return found == methods_.end() ? nullptr : &found->second;
  }

  // The full names of the services that have methods: "test.Echo".
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [path, method] : methods_) names.insert(path.substr(1, path.rfind('/') - 1));
    return names;
  }

  Gate gate = {};                                // Empty: every call is admitted.
  size_t receive_bytes_max = size_t{256} << 20;  // The limit of a message, before and after decompression.
  // For the request of a unary call, counted from its head: the grace, and a second for each bytes_per_second_min bytes
  // that have arrived so far. Then the call ends with DEADLINE_EXCEEDED. Clients of streaming calls may be silent.
  http2::AnswerTime receive_time = {};

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Method, Hash, std::equal_to<>> methods_;
};

}  // namespace longshore::grpc_server
