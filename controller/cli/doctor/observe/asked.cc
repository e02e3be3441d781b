#include "controller/cli/doctor/observe/asked.h"

#include <ctime>

#include "common/net/http_client/client.h"
#include "common/net/tls/authority.h"
#include "common/os/file.h"

namespace longshore::cli::doctor::observe {
namespace {

constexpr size_t kAnswerBytesMax = size_t{32} << 20;
constexpr size_t kPemBytesMax = size_t{1} << 20;

Result<std::string> Ask(const std::string& url, const std::string& target, Limit limit) {
  ASSIGN_OR_RETURN(const auto client, http_client::Client::Make(
                                          {.base_url = url,
                                           .tls = []() -> Result<tls::ClientIdentity> {
                                             ASSIGN_OR_RETURN(std::string cas, tls::ReadSystemCas());
                                             return tls::ClientIdentity{.server_ca = cas, .certificate = "", .key = ""};
                                           },
                                           .idle_max = limit,
                                           .body_bytes_max = kAnswerBytesMax}));
  ASSIGN_OR_RETURN(const http_client::Response response, client->Send({.target = target}));
  if (response.status != 200) return Unavailable("{} answered with the HTTP status {}", url, response.status);
  return response.body;
}

Result<Json> AskQuery(const std::string& url, const std::string& query, Limit limit) {
  ASSIGN_OR_RETURN(const std::string body, Ask(url, "/api/v1/query?query=" + http_client::Encode(query), limit));
  return ParseJson(body);
}

}  // namespace

Result<std::string> VersionIn(const std::string& metrics) {
  const size_t at = metrics.find("\nlongshore_build_info{");
  const size_t end = metrics.find('}', at == std::string::npos ? 0 : at);
  const std::string labels = at == std::string::npos ? "" : metrics.substr(at, end - at);
  constexpr std::string_view kLabel = "version=\"";
  const size_t value = labels.find(kLabel);
  if (value == std::string::npos) return NotFound("its metrics do not contain its version");
  const size_t begin = value + kLabel.size();
  return labels.substr(begin, labels.find('"', begin) - begin);
}

Result<std::string> AskVersion(const std::string& address, Limit limit) {
  ASSIGN_OR_RETURN(const std::string metrics, Ask("http://" + address, "/metrics", limit));
  return VersionIn(metrics);
}

Series AskPrometheus(const api::ServingFleet& fleet, Limit limit) {
  const std::string& url = fleet.spec.autoscaling->prometheus_url;
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  Series series{.names = AskQuery(url, NamesQuery(name), limit), .oldest = NotFound("it was not asked")};
  if (series.names) series.oldest = AskQuery(url, OldestQuery(name), limit);
  return series;
}

Result<TimePoint> ParseDate(const std::string& date) {
  std::tm fields{};
  if (strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &fields) == nullptr)
    return DataLoss("its answer has no valid date");
  return TimePoint(std::chrono::seconds(timegm(&fields)));
}

Certificate CertificateIn(const std::string& what, const std::string& pem, const std::string& renew) {
  const auto validity = tls::ValidityOfCertificate(pem);
  if (!validity) return {what, tl::make_unexpected(validity.error()), tl::make_unexpected(validity.error()), renew};
  return {what, validity->from, validity->until, renew};
}

Certificate CertificateOfFile(const std::string& file, const std::string& renew) {
  const auto pem = ReadFile(file, kPemBytesMax);
  if (!pem) return {file, tl::make_unexpected(pem.error()), tl::make_unexpected(pem.error()), renew};
  return CertificateIn(file, *pem, renew);
}

}  // namespace longshore::cli::doctor::observe
