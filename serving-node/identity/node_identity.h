// Who this node is to the other nodes of its fleet: its certificate, and by whom theirs are signed.
//
// In a cluster a node makes its key and asks its controller to sign for it; the key stays here. The certificate is kept
// on disk, so that a node that starts again has it whoever is reachable, and is renewed daily though it lives for a
// year. Other nodes are believed when the authority of the certificate signed theirs and when they have the name that
// only this fleet's nodes have.
//
// When another authority takes over, a node trusts both, and goes on showing the certificate that it had for a while:
// by then all others have heard of the new one too.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "common/tls/authority.h"
#include "common/tls/request.h"
#include "longshore/control.pb.h"

namespace longshore::identity {

// What both ends of a hop show, and ask of each other.
struct PeerIdentity {
  tls::KeyPair own;
  std::string authorities;
  std::string fleet_name;  // The DNS name that the other's certificate must have.

  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

struct Options {
  Path file{};     // Where it is kept.
  Path ca_file{};  // By which the controller is dialled: where a new authority is seen first.
  std::chrono::milliseconds ask_again{15'000};       // At least, between two requests.
  std::chrono::milliseconds look_every{5'000};       // Between two looks at what may be due.
  std::chrono::milliseconds show_after{5 * 60'000};  // For so long the certificate of the authority before is shown.
};

// Thread-safe.
class NodeIdentity {
 public:
  // Begins with what is in the file, unless its time is over or it cannot be read: then with nothing.
  NodeIdentity(Options options, const Clock& clock, const MonotonicClock& timer);

  // What goes out as a control::CertificateRequest, when one is due. Cheap to ask often.
  std::optional<std::string> RequestIfDue();

  // The answer to the newest request. An error leaves everything as it is: what the answer says, or what is wrong with
  // it. One that cannot be kept on disk is used all the same.
  Status Take(const control::Certificate& answer);

  // Null until there is one. Another pointer whenever it is another one.
  std::shared_ptr<const PeerIdentity> current();

  // When the newest certificate ends; nullopt when there is none.
  std::optional<TimePoint> until() const;

 private:
  // All with the mutex held.
  bool IsAskingDue();
  std::string AuthoritiesNow() const;
  Status Hold(control::NodeIdentity next);
  void Show(std::shared_ptr<const PeerIdentity> next, bool is_of_another_authority);

  const Options options_;
  const Clock& clock_;
  const MonotonicClock& timer_;
  mutable std::mutex mutex_;  // Guards what follows.
  control::NodeIdentity held_;
  tls::Validity validity_;        // Of the certificate that is held.
  tls::Request asked_;            // Empty: for nothing.
  std::string authorities_then_;  // As in Renewal.
  std::optional<MonotonicPoint> asked_at_;
  std::optional<MonotonicPoint> looked_at_;
  std::shared_ptr<const PeerIdentity> shown_;
  std::shared_ptr<const PeerIdentity> next_;  // Shown from then on. Null: `shown_` stays.
  MonotonicPoint next_at_;
};

}  // namespace longshore::identity
