#include "controller/reconcile/news.h"

#include <utility>

namespace longshore::reconcile {
namespace {

// Verdicts count only in a report about the state last sent, so with them it matters whether it is one.
bool HasVerdict(const control::VersionReport& version) {
  using control::VersionReport;
  return version.has_golden() || version.guard().tripped() || version.state() == VersionReport::FAILED ||
         version.state() == VersionReport::QUARANTINED || version.state() == VersionReport::NOT_FOUND;
}

}  // namespace

NewsBook::Heard NewsBook::HeardOf(const KnownNode& node, bool leaving) {
  const nodes::NodeView& view = node.view;
  Heard heard;
  for (const bool yes : {node.attached, leaving, view.report->draining(), view.sent != nullptr}) {
    heard.standing += yes ? '1' : '0';
  }
  const bool fresh = IsFresh(view);
  for (control::VersionReport version : view.report->versions()) {
    version.clear_evidence();
    std::string& words = heard.words[version.served_name()];
    words += version.SerializeAsString();
    if (HasVerdict(version)) words += fresh ? '1' : '0';
  }
  return heard;
}

News NewsBook::Take(const std::string& fleet, const std::vector<KnownNode>& nodes,
                    const std::set<std::string>& leaving) {
  std::map<std::string, Heard>& known = fleets_[fleet];
  std::map<std::string, Heard> next;
  News news;
  for (const KnownNode& node : nodes) {
    const std::string& name = node.view.hello.node();
    Heard heard = HeardOf(node, leaving.contains(name));
    Heard& before = known[name];
    news.of_all = news.of_all || before.standing != heard.standing;
    for (const auto& [model, words] : heard.words) {
      if (std::exchange(before.words[model], "") != words) news.of_models.insert(model);
    }
    for (const auto& [model, words] : before.words) {
      if (!words.empty()) news.of_models.insert(model);  // It is no longer spoken of.
    }
    next.emplace(name, std::move(heard));
  }
  for (const auto& [name, _] : known) news.of_all = news.of_all || !next.contains(name);
  known = std::move(next);
  return news;
}

}  // namespace longshore::reconcile
