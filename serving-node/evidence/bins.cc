#include "serving-node/evidence/bins.h"

namespace longshore::evidence {
namespace {

// Copies the counts, without the zeros at the end.
template <typename Counts>
void Copy(const Counts& counts, google::protobuf::RepeatedField<int64_t>* to) {
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t count = counts[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    to->Resize(static_cast<int>(i), 0);
    to->Add(count);
  }
}

}  // namespace

void Bins::Count(int bin, bool bad) {
  const auto at = static_cast<size_t>(bin);
  requests_[at].fetch_add(1, std::memory_order_relaxed);
  if (bad) bad_[at].fetch_add(1, std::memory_order_relaxed);
}

void Bins::CopyTo(control::BinEvidence* evidence) const {
  evidence->set_salt(salt_);
  Copy(bad_, evidence->mutable_bad());
  Copy(requests_, evidence->mutable_requests());
}

}  // namespace longshore::evidence
