// TensorFlow Serving's REST API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/budget.h"
#include "common/base/error.h"
#include "common/net/auth/tokens.h"
#include "common/net/http/open_connection.h"
#include "common/net/http/types.h"
#include "common/net/tls/identity.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

// An API that shares the listener with TensorFlow Serving's. Thread-safe.
class RestApi {
 public:
  virtual ~RestApi() = default;
  // Returns whether the target belongs to this API.
  virtual bool Owns(std::string_view target) const = 0;
  // The header of requests and answers that says how to read their bodies. Pages of other origins may use it, too.
  virtual std::string BodyHeader() const = 0;
  // Returns the scope that a request needs.
  virtual auth::Scope ScopeOf(std::string_view method, std::string_view target) const = 0;
  // Answers a request whose target belongs to this API. The listener has admitted the request. Must not block.
  virtual void Handle(http::Request request, http::Responder respond) = 0;
};

struct RestOptions {
  std::string listen = {};  // "host:port" (port 0: any free one). Not used with listen_fd.
  int listen_fd = -1;       // An existing listening socket to use instead; the server takes ownership.
  std::shared_ptr<tls::Identities> tls = {};    // Null: plaintext.
  bool shares_socket = false;                   // Other processes may accept from listen_fd.
  std::shared_ptr<const auth::Gate> gate = {};  // Null: no authentication.
  size_t connections_max = 10000;               // Others wait in the operating system's backlog.
  size_t body_bytes_max = size_t{256} << 20;    // The maximum size as sent. Larger bodies get 413.
  // The maximum size of the bodies of all requests with unwritten answers. Above it, requests get 503.
  size_t bodies_bytes_max = size_t{4} << 30;
  // The minimum size of an answer that is gzipped if the client accepts gzip. 0: no answer is gzipped.
  size_t gzip_bytes_min = 4096;
  size_t bytes_per_second_min = 16384;            // A client that sends or reads more slowly is disconnected.
  std::chrono::milliseconds stop_timeout{30000};  // For transfers that are not complete when the node stops.
  int threads = 2;                                // The threads that parse JSON.
  std::string node = {};                          // The node's name, sent as header x-longshore-node.
  std::chrono::milliseconds timeout{30000};       // The maximum time of a prediction.
  // Older connections are closed after an answer, with jitter. 0: never.
  int64_t connection_age_max_ms = 0;
  std::string metrics_path = {};            // The path of the metrics. "": they are not served.
  bool check_method_names = false;          // Reject a call if the signature's method_name belongs to another method.
  const RequestMeter* meter = nullptr;      // Null: requests are not counted.
  InFlight* in_flight = nullptr;            // Limits the predictions in flight. Null: no limit.
  bool cors = false;                        // Let pages of other origins read the answers.
  Budget budget = {};                       // Limits the size of a decompressed body and its elements.
  std::shared_ptr<RestApi> other_api = {};  // Null: the listener has only TensorFlow Serving's API.
};

// Thread-safe.
class RestServer {
 public:
  // `predictor` and `catalog` must outlive the server. `metrics` returns the text that is served at metrics_path.
  // Returns FailedPrecondition, which names the address, if the address is in use.
  static Result<std::unique_ptr<RestServer>> Start(RestOptions options, routing::Predictor& predictor,
                                                   const Catalog& catalog, std::function<std::string()> metrics);
  virtual ~RestServer() = default;  // Closes all connections immediately; call Drain first to finish requests.

  virtual int port() const = 0;
  virtual int listen_fd() const = 0;  // -1 after Drain was called.
  virtual size_t connections() const = 0;
  virtual std::vector<http::OpenConnection> OpenConnections() const = 0;

  // Stops accepting connections, answers the requests in flight, and returns when all connections have ended.
  virtual void Drain() = 0;
};

}  // namespace longshore::frontend
