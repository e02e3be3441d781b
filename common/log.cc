#include "common/log.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace longshore {

Status InitLog(const std::string& program, const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    return InvalidArgument("unknown log level \"{}\": use debug, info, warning, error or off", level);
  }
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n: %v");
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

std::string ForLog(std::string_view text, size_t bytes_max) {
  std::string safe;
  for (const char c : text.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  if (text.size() > bytes_max) safe += "...";
  return safe;
}

}  // namespace longshore
