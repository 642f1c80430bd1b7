#include "toric/ring/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace toric::ring {

namespace {

static_assert(std::is_trivially_copyable_v<Statement>);

std::string who(std::string_view transport, std::size_t rank) {
  return std::string(transport) + " transport: rank " + std::to_string(rank) + " ";
}

Status check_one(std::string_view transport, const std::vector<Statement>& all, std::size_t rank) {
  const Statement& first = all[0];
  const Statement& one = all[rank];
  if (one.magic != agreement_magic)
    return {Code::invalid_usage, who(transport, rank) + "does not speak this protocol; run the same build of Toric on all ranks"};
  if (one.version != first.version)
    return {Code::invalid_usage, who(transport, rank) + "has version " + std::to_string(one.version) + ", rank 0 has " +
                                     std::to_string(first.version) + "; run the same build of Toric on all ranks"};
  if (one.refuses != 0) {
    const std::string_view reason(one.reason, strnlen(one.reason, sizeof one.reason));
    return {Code::system_error, who(transport, rank) + "cannot take part: " + std::string(reason)};
  }
  if (one.config != first.config)
    return {Code::invalid_usage, who(transport, rank) + "is configured as " + one.config.describe() + ", rank 0 as " +
                                     first.config.describe() + "; give all ranks the same configuration"};
  return {};
}

}  // namespace

void Statement::refuse(const Status& status) {
  refuses = 1;
  const std::size_t length = std::min(status.text().size(), sizeof reason - 1);
  std::memcpy(reason, status.text().data(), length);
  reason[length] = '\0';
}

Result<std::vector<Statement>> gather(std::string_view transport, const Statement& mine, Exchange& exchange) {
  const auto gathered = exchange.all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!gathered) return gathered.status();
  std::vector<Statement> all(gathered->size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if ((*gathered)[rank].size() != sizeof(Statement)) {
      all[rank].magic = 0;
    } else {
      std::memcpy(static_cast<void*>(&all[rank]), (*gathered)[rank].data(), sizeof(Statement));
    }
  }
  if (all.empty()) return Status(Code::internal_error, std::string(transport) + " transport: the exchange has no ranks");
  return all;
}

Status check(std::string_view transport, const std::vector<Statement>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) TORIC_TRY(check_one(transport, all, rank));
  return {};
}

Status all_ok(std::string_view transport, const Status& mine, Exchange& exchange) {
  const auto gathered = exchange.all_gather(std::as_bytes(std::span(mine.text())));
  if (!gathered) return gathered.status();
  for (std::size_t rank = 0; rank < gathered->size(); ++rank) {
    const auto& text = (*gathered)[rank];
    if (text.empty()) continue;
    if (static_cast<Rank>(rank) == exchange.rank()) return mine;
    return {Code::system_error,
            who(transport, rank) + "cannot take part: " + std::string(reinterpret_cast<const char*>(text.data()), text.size())};
  }
  return {};
}

}  // namespace toric::ring
