#include "toric/check/verifier.hpp"

#include "toric/check/proof.hpp"

#include <iterator>
#include <utility>

namespace toric {

std::string_view name_of(Fault fault) {
  constexpr std::string_view names[] = {"none",           "structure",     "pairing",       "data",      "deadlock",
                                        "race",           "uninitialised", "input_written", "duplicate", "wrong_result",
                                        "missing_result", "order_differs", "rank_order"};
  static_assert(std::size(names) == fault_count);
  return static_cast<std::size_t>(fault) < std::size(names) ? names[static_cast<std::size_t>(fault)] : "unknown";
}

namespace {

// What holds whatever the buffers' addresses are: steps, messages, and an order that runs to the end.
Verdict prepare(const Schedule& schedule, check::Index& index, std::vector<std::uint32_t>& order) {
  if (Verdict verdict = check::index_steps(schedule, index); !verdict.ok()) return verdict;
  if (Verdict verdict = check::pair_messages(index); !verdict.ok()) return verdict;
  return check::order_steps(index, order);
}

Verdict verify_aliased(const check::Index& index, const std::vector<std::uint32_t>& order, const VerifyOptions& options) {
  // Values mean something only where no race is: then every legal order computes the same ones.
  Verdict verdict = check::check_races(index, options.in_place);
  if (verdict.ok()) verdict = check::check_values(index, order, options);
  if (!verdict.ok()) verdict.text += options.in_place ? " [input and output in place]" : " [input and output apart]";
  return verdict;
}

}  // namespace

Verdict verify(const Schedule& schedule, const VerifyOptions& options) {
  check::Index index;
  std::vector<std::uint32_t> order;
  if (Verdict verdict = prepare(schedule, index, order); !verdict.ok()) return verdict;
  return verify_aliased(index, order, options);
}

Verdict verify_all(const Schedule& schedule, bool keep_rank_order) {
  check::Index index;
  std::vector<std::uint32_t> order;
  if (Verdict verdict = prepare(schedule, index, order); !verdict.ok()) return verdict;
  Verdict verdict = verify_aliased(index, order, {.in_place = false, .keep_rank_order = keep_rank_order});
  if (verdict.ok()) verdict = verify_aliased(index, order, {.in_place = true, .keep_rank_order = keep_rank_order});
  return verdict;
}

}  // namespace toric
