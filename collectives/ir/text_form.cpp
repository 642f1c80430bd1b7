// Grammar: docs/ir.md. One step a line; what a step does not use is not written.
#include "toric/ir/text_form.hpp"

#include <charconv>
#include <optional>

namespace toric {

namespace {

constexpr std::string_view first_line = "toric schedule 1";
constexpr std::string_view op_names[] = {"send", "recv", "recv_reduce", "copy", "reduce"};
constexpr std::string_view buf_names[] = {"in", "out", "scratch"};

// --- writing ---------------------------------------------------------------------------------------------------------

void write_run(std::string& text, Buf buf, std::uint32_t first, std::uint32_t count) {
  text += ' ';
  text += buf_names[static_cast<std::size_t>(buf)];
  text += '[' + std::to_string(first);
  if (count > 1) text += ".." + std::to_string(std::uint64_t{first} + count - 1);
  text += ']';
}

void write_step(std::string& text, const Program& program, std::size_t index) {
  const Step& step = program.steps[index];
  text += "  " + std::to_string(index) + ": ";
  text += op_names[static_cast<std::size_t>(step.op)];
  if (reads_src(step.op)) write_run(text, step.src_buf, step.src_first, step.count);
  if (writes_dst(step.op)) {
    text += " ->";
    write_run(text, step.dst_buf, step.dst_first, step.count);
  }
  if (!is_local(step.op)) text += (is_send(step.op) ? " to " : " from ") + std::to_string(step.peer);
  if (!is_local(step.op) || step.channel != 0) text += " channel " + std::to_string(step.channel);
  text += " lane " + std::to_string(step.lane);
  if ((step.flags & wire_is_left) != 0) text += step.op == Op::reduce ? " src_left" : " wire_left";
  if (step.dep_count > 0) text += " after";
  for (const Dep dep : program.deps_of(step)) text += ' ' + std::to_string(dep.step);
  text += '\n';
}

std::string quoted(std::string_view word) {
  std::string text("'");
  text += word;
  text += '\'';
  return text;
}

// --- reading ---------------------------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  Result<Schedule> read();

 private:
  bool next_line();
  void skip_blanks() {
    while (!line_.empty() && (line_.front() == ' ' || line_.front() == '\t' || line_.front() == '\r')) line_.remove_prefix(1);
  }
  [[nodiscard]] bool take(std::string_view word);  // a word, or punctuation where it ends in none
  [[nodiscard]] bool take_mark(std::string_view mark);
  template <typename Number>
  [[nodiscard]] bool take_number(Number& value);
  [[nodiscard]] Status expected(const std::string& what);
  Status read_header();
  Status read_place();
  Status read_step(Program& program);
  Status read_run(Buf& buf, std::uint32_t& first, std::uint32_t& count);
  Status read_step_tail(Program& program, Step& step);
  template <typename Number>
  Status read_value(std::string_view name, Number& value);

  std::string_view rest_, line_;
  std::uint64_t line_number_ = 0;
  Schedule schedule_;
};

/// The next line that says something; comments are from # to the end of a line.
bool Reader::next_line() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_number_;
    line_ = line_.substr(0, std::min(line_.find('#'), line_.size()));
    skip_blanks();
    if (!line_.empty()) return true;
  }
  line_ = {};
  return false;
}

bool Reader::take_mark(std::string_view mark) {
  skip_blanks();
  if (!line_.starts_with(mark)) return false;
  line_.remove_prefix(mark.size());
  return true;
}

bool Reader::take(std::string_view word) {
  skip_blanks();
  if (!line_.starts_with(word)) return false;
  const auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (line_.size() > word.size() && in_word(line_[word.size()])) return false;
  line_.remove_prefix(word.size());
  return true;
}

template <typename Number>
bool Reader::take_number(Number& value) {
  skip_blanks();
  const auto [end, error] = std::from_chars(line_.data(), line_.data() + line_.size(), value);
  if (error != std::errc()) return false;
  line_.remove_prefix(static_cast<std::size_t>(end - line_.data()));
  return true;
}

Status Reader::expected(const std::string& what) {
  skip_blanks();
  const std::string found = line_.empty() ? std::string("the end of the line") : quoted(line_.substr(0, 24));
  return Status(Code::invalid_argument, "schedule text, line " + std::to_string(line_number_) + ": expected " + what + ", found " + found);
}

template <typename Number>
Status Reader::read_value(std::string_view name, Number& value) {
  if (!take(name)) return expected(quoted(name));
  if (!take_number(value)) return expected("a number for " + std::string(name));
  return {};
}

Status Reader::read_header() {
  if (!next_line() || line_.substr(0, line_.find_last_not_of(" \t\r") + 1) != first_line) return expected(quoted(first_line));
  if (!next_line()) return expected("a collective");
  std::optional<Collective> what;
  for (int i = 0; i < collective_count && !what; ++i)
    if (take(name_of(static_cast<Collective>(i)))) what = static_cast<Collective>(i);
  if (!what) return expected("the name of a collective");
  schedule_.what = *what;
  TORIC_TRY(read_value("ranks", schedule_.ranks));
  if (is_rooted(*what)) TORIC_TRY(read_value("root", schedule_.root));
  TORIC_TRY(read_value("chunks", schedule_.chunks));
  TORIC_TRY(read_value("scratch", schedule_.scratch_chunks));
  TORIC_TRY(read_value("fifo", schedule_.fifo));
  TORIC_TRY(read_value("channels", schedule_.channels));
  TORIC_TRY(read_value("lanes", schedule_.lanes));
  skip_blanks();
  if (!line_.empty()) return expected("the end of the line");
  // Before anything is allocated by these numbers.
  constexpr Rank most_ranks = 1 << 20;
  if (schedule_.ranks < 1 || schedule_.ranks > most_ranks)
    return Status(Code::invalid_argument, "schedule text, line " + std::to_string(line_number_) + ": " + std::to_string(schedule_.ranks) +
                                              " ranks; 1 to " + std::to_string(most_ranks) + " are possible");
  schedule_.programs.resize(static_cast<std::size_t>(schedule_.ranks));
  return {};
}

Status Reader::read_place() {
  std::uint32_t value = 0;
  while (take_number(value)) schedule_.place.push_back(value);
  skip_blanks();
  return line_.empty() ? Status() : expected("a chunk number or the end of the line");
}

Status Reader::read_run(Buf& buf, std::uint32_t& first, std::uint32_t& count) {
  std::optional<Buf> found;
  for (std::size_t i = 0; i < std::size(buf_names) && !found; ++i)
    if (take(buf_names[i])) found = static_cast<Buf>(i);
  if (!found) return expected("'in', 'out' or 'scratch'");
  buf = *found;
  if (!take_mark("[") || !take_number(first)) return expected("'[' and a chunk");
  std::uint32_t last = first;
  if (take_mark("..") && (!take_number(last) || last <= first)) return expected("a chunk after the run's first");
  if (!take_mark("]")) return expected("']'");
  const std::uint64_t run = std::uint64_t{last} - first + 1;
  if (run > UINT32_MAX || (count != 0 && run != count)) return expected("a run of as many chunks as the step's source before this");
  count = static_cast<std::uint32_t>(run);
  return {};
}

Status Reader::read_step_tail(Program& program, Step& step) {
  if (!is_local(step.op)) TORIC_TRY(read_value(is_send(step.op) ? "to" : "from", step.peer));
  if (!is_local(step.op) || line_.starts_with(" channel")) TORIC_TRY(read_value("channel", step.channel));
  TORIC_TRY(read_value("lane", step.lane));
  if (take(step.op == Op::reduce ? "src_left" : "wire_left")) step.flags = wire_is_left;
  step.dep_begin = static_cast<std::uint32_t>(program.deps.size());
  if (take("after")) {
    Dep dep{};
    while (take_number(dep.step)) program.deps.push_back(dep);
    step.dep_count = static_cast<std::uint32_t>(program.deps.size()) - step.dep_begin;
    if (step.dep_count == 0) return expected("the number of a step");
  }
  skip_blanks();
  return line_.empty() ? Status() : expected("'after' or the end of the line");
}

Status Reader::read_step(Program& program) {
  std::size_t index = 0;
  if (!take_number(index) || index != program.steps.size() || !take_mark(":"))
    return expected("'rank', or '" + std::to_string(program.steps.size()) + ":', the next step's number");
  std::optional<Op> op;
  for (std::size_t i = 0; i < std::size(op_names) && !op; ++i)
    if (take(op_names[i])) op = static_cast<Op>(i);
  if (!op) return expected("'send', 'recv', 'recv_reduce', 'copy' or 'reduce'");
  Step step{*op, Buf::input, Buf::input, 0, 0, 0, -1, 0, 0, 0, 0, 0};
  if (reads_src(*op)) TORIC_TRY(read_run(step.src_buf, step.src_first, step.count));
  if (writes_dst(*op)) {
    if (!take_mark("->")) return expected("'->'");
    TORIC_TRY(read_run(step.dst_buf, step.dst_first, step.count));
  }
  TORIC_TRY(read_step_tail(program, step));
  program.steps.push_back(step);
  return {};
}

Result<Schedule> Reader::read() {
  TORIC_TRY(read_header());
  Program* program = nullptr;
  bool any_rank = false;
  while (next_line()) {
    if (!any_rank && schedule_.place.empty() && take("place")) {
      TORIC_TRY(read_place());
    } else if (take("rank")) {
      Rank rank = -1;
      if (!take_number(rank) || rank < 0 || rank >= schedule_.ranks) return expected("a rank below " + std::to_string(schedule_.ranks));
      skip_blanks();
      if (!line_.empty()) return expected("the end of the line");
      program = &schedule_.programs[static_cast<std::size_t>(rank)];
      if (!program->steps.empty()) return expected("each rank once; rank " + std::to_string(rank) + " came before");
      any_rank = true;
    } else if (program != nullptr) {
      TORIC_TRY(read_step(*program));
    } else {
      return expected("'place' or 'rank'");
    }
  }
  TORIC_TRY(check_structure(schedule_));
  return std::move(schedule_);
}

}  // namespace

std::string to_text(const Schedule& s) {
  std::string text(first_line);
  text += '\n' + std::string(name_of(s.what)) + " ranks " + std::to_string(s.ranks);
  if (is_rooted(s.what)) text += " root " + std::to_string(s.root);
  text += " chunks " + std::to_string(s.chunks) + " scratch " + std::to_string(s.scratch_chunks) + " fifo " + std::to_string(s.fifo) +
          " channels " + std::to_string(s.channels) + " lanes " + std::to_string(s.lanes) + '\n';
  if (!s.place.empty()) {
    text += "place";
    for (const std::uint32_t chunk : s.place) text += ' ' + std::to_string(chunk);
    text += '\n';
  }
  for (std::size_t rank = 0; rank < s.programs.size(); ++rank) {
    const Program& program = s.programs[rank];
    if (program.steps.empty()) continue;
    text += "rank " + std::to_string(rank) + '\n';
    for (std::size_t i = 0; i < program.steps.size(); ++i) write_step(text, program, i);
  }
  return text;
}

Result<Schedule> from_text(std::string_view text) { return Reader(text).read(); }

}  // namespace toric
