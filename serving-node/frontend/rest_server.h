// TensorFlow Serving's REST API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/auth/tokens.h"
#include "common/budget.h"
#include "common/error.h"
#include "common/tls/identity.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

struct RestOptions {
  std::string listen = {};  // "host:port" (port 0: any free one). Not used with listen_fd.
  int listen_fd = -1;       // A listening socket to take over instead; owned by the server from then on.
  std::shared_ptr<tls::Identities> tls = {};      // Null: plaintext.
  std::shared_ptr<const auth::Gate> gate = {};    // Null: everybody may ask.
  size_t connections_max = 10000;                 // More wait in the system's backlog.
  size_t body_bytes_max = size_t{256} << 20;      // As sent; a larger one is answered 413.
  size_t bodies_bytes_max = size_t{4} << 30;      // Of all requests that are not answered; more are refused with 503.
  size_t gzip_bytes_min = 4096;                   // Of an answer that is gzipped where the client asks; 0: none is.
  size_t bytes_per_second_min = 16384;            // A client that sends or reads more slowly is disconnected.
  std::chrono::milliseconds stop_timeout{30000};  // Of a body, or an answer, that is on its way when the node leaves.
  int threads = 2;                                // They parse the JSON.
  std::string node = {};                          // Sent as header x-longshore-node.
  std::chrono::milliseconds timeout{30000};       // Of one prediction.
  int64_t connection_age_max_ms = 0;              // Older connections are closed after an answer, jittered; 0: never.
  std::string metrics_path = {};                  // Where the metrics are; "": nowhere.
  bool check_method_names = false;                // A signature answers only to the method that it names.
  const RequestMeter* meter = nullptr;            // Counts what comes in; null: nothing does.
  InFlight* in_flight = nullptr;                  // Where predictions need a place; null: nowhere.
  bool cors = false;                              // Let pages of other origins read the answers.
  Budget budget = {};                             // Plain bytes of a gzipped body.
};

// Thread-safe.
class RestServer {
 public:
  // Predictor and catalog outlive the server. `metrics` gives the text at metrics_path.
  // FailedPrecondition naming the address when it is in use.
  static Result<std::unique_ptr<RestServer>> Start(RestOptions options, routing::Predictor& predictor,
                                                   const Catalog& catalog, std::function<std::string()> metrics);
  virtual ~RestServer() = default;  // Cuts what is open; use Drain first where requests matter.

  virtual int port() const = 0;
  virtual int listen_fd() const = 0;  // -1 once draining.
  virtual size_t connections() const = 0;

  // Accepts no more, answers what is under way, and returns when no connection is left.
  virtual void Drain() = 0;
};

}  // namespace longshore::frontend
