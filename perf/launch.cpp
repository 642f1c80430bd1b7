#include "launch.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace toric::perf {

namespace {

constexpr const char* child_variable = "TORIC_PERF_CHILD";  // "index count idhex"
constexpr auto grace = std::chrono::seconds(12);            // longer than a dead peer takes to be named

std::string hex(const toricUniqueId& id) {
  std::string text;
  for (const char c : id.internal) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// A child inherits the CPU of the thread that spawns it.
class PinnedSpawn {
 public:
  explicit PinnedSpawn(int count) : cpus_(allowed_cpus()), pin_(count <= static_cast<int>(cpus_.size())) {}

  pid_t spawn(int index, const std::vector<std::string>& argv, const std::string& variable) {
    if (pin_) set_cpus({cpus_[static_cast<std::size_t>(index)]});
    std::vector<char*> arguments, environment;
    for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
    environment.push_back(const_cast<char*>(variable.c_str()));
    environment.push_back(nullptr);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data());
    if (pin_) set_cpus(cpus_);
    if (error != 0) fmt::print(stderr, "cannot start rank {}: {}\n", index, std::strerror(error));
    return error == 0 ? pid : -1;
  }

 private:
  static void set_cpus(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  std::vector<int> cpus_;
  bool pin_;
};

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void signal_all(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids)
    if (pid > 0) kill(pid, signal);
}

// Waits for all; SIGINT and SIGTERM are blocked and taken here, so that they reach the children exactly once.
int wait_for_all(std::vector<pid_t> pids) {
  int code = 0;
  std::size_t left = pids.size();
  auto give_up_at = std::chrono::steady_clock::time_point::max();
  while (left > 0) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid > 0) {
      for (std::size_t i = 0; i < pids.size(); ++i) {
        if (pids[i] != pid) continue;
        pids[i] = -1;
        --left;
        if (status == 0) continue;
        fmt::print(stderr, "rank {} (pid {}): {}\n", i, pid, describe_end(status));
        if (code == 0) code = code_of(status);
        if (give_up_at == std::chrono::steady_clock::time_point::max()) give_up_at = std::chrono::steady_clock::now() + grace;
      }
      continue;
    }
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int s : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&wanted, s);
    const timespec pause{0, 50'000'000};
    const int got = sigtimedwait(&wanted, nullptr, &pause);
    if (got == SIGINT || got == SIGTERM) {
      signal_all(pids, got);
      if (code == 0) code = 128 + got;
      give_up_at = std::min(give_up_at, std::chrono::steady_clock::now() + grace);
    }
    if (std::chrono::steady_clock::now() > give_up_at) signal_all(pids, SIGKILL);
  }
  return code;
}

}  // namespace

int run_children(int count, const std::vector<std::string>& argv) {
  toricUniqueId id;
  if (const toricResult_t made = toricGetUniqueId(&id); made != toricSuccess) {
    fmt::print(stderr, "no unique id: {}\n", toricGetLastError(nullptr));
    return 1;
  }
  sigset_t blocked, old;
  sigemptyset(&blocked);
  for (const int s : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&blocked, s);
  PinnedSpawn spawner(count);
  std::vector<pid_t> pids;
  for (int i = 0; i < count; ++i) {
    pids.push_back(spawner.spawn(i, argv, fmt::format("{}={} {} {}", child_variable, i, count, hex(id))));
    if (pids.back() < 0) {
      signal_all(pids, SIGKILL);
      return 1;
    }
  }
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const int code = wait_for_all(std::move(pids));
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return code;
}

std::optional<ProcessPlace> place_as_child() {
  const char* text = std::getenv(child_variable);
  if (text == nullptr) return std::nullopt;
  ProcessPlace place;
  char digits[2 * TORIC_UNIQUE_ID_BYTES + 1] = {};
  if (std::sscanf(text, "%d %d %256s", &place.index, &place.count, digits) != 3) return std::nullopt;
  toricUniqueId id;
  for (int i = 0; i < TORIC_UNIQUE_ID_BYTES; ++i) {
    const char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
    id.internal[i] = static_cast<char>(std::strtol(pair, nullptr, 16));
  }
  place.id = id;
  return place;
}

}  // namespace toric::perf
