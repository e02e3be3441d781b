// Counts the requests of one version by bins of keys (BinEvidence of control.proto). Thread-safe without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "common/node_contract/bins.h"
#include "longshore/control.pb.h"

namespace longshore::evidence {

class Bins {
 public:
  // `salt`: of the assignment whose buckets are counted.
  explicit Bins(std::string salt) : salt_(std::move(salt)) {}

  const std::string& salt() const { return salt_; }
  // Counts a request that was answered, failed, refused or too late. Requires: 0 <= bin < kBins.
  void Count(int bin, bool bad);
  void CopyTo(control::BinEvidence* evidence) const;

 private:
  using Counts = std::array<std::atomic<int64_t>, node_contract::kBins>;

  const std::string salt_;
  Counts requests_{};
  Counts bad_{};
};

}  // namespace longshore::evidence
