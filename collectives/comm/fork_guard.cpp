#include "toric/comm/fork_guard.hpp"

#include <pthread.h>

namespace toric {
namespace {

std::atomic<std::uint32_t> generation{0};

void count_fork() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

void start_fork_guard() { [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, count_fork); }

}  // namespace toric
