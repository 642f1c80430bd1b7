# How scripts/test and scripts/nightly run tests and count them. To be sourced after common.sh.
# shellcheck shell=bash disable=SC2154

passed=0 failed=0 skipped=0

# Settings of whoever calls must not change what is tested.
for name in "${!TORIC_@}"; do unset "$name"; done

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# The thread sanitizer of older compilers does not start where addresses are spread as widely as newer kernels do.
fixed_addresses() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then
    setarch "$(uname -m)" -R "$@"
  else
    "$@"
  fi
}

# Adds what one ctest run found: GoogleTest programs count by case, others as one. A program that failed without naming a
# case (a crash, a sanitizer's report, a timeout) counts as one failure.
count_results() {
  local junit=$1 cases=$2 counts
  counts=$(awk -v cases="$cases" '
    function attribute(text, name,   at, rest) {
      at = index(text, " " name "=\"")
      if (!at) return ""
      rest = substr(text, at + length(name) + 3)
      return substr(rest, 1, index(rest, "\"") - 1)
    }
    function read_cases(file,   line) {
      total = bad = left_out = 0
      while ((getline line < file) > 0) {
        if (line ~ /<testcase /) {
          if (attribute(line, "status") == "notrun") continue
          ++total
          if (attribute(line, "result") == "skipped") {
            ++left_out
            print "skipped: " attribute(line, "classname") "." attribute(line, "name") > "/dev/stderr"
          }
        }
        if (line ~ /<testsuites /) bad = attribute(line, "failures") + attribute(line, "errors")
      }
      close(file)
      return total
    }
    /<testcase / {
      name = attribute($0, "name")
      status = attribute($0, "status")
      if (read_cases(cases "/" name ".xml") > 0) {
        if (status == "fail" && bad == 0) bad = 1
        if (bad) print "FAILED: " name > "/dev/stderr"
        failed += bad
        skipped += left_out
        passed += total > bad + left_out ? total - bad - left_out : 0
      } else if (status == "run") {
        ++passed
      } else if (status == "fail") {
        ++failed
        print "FAILED: " name > "/dev/stderr"
      } else {
        left_out_program = name
      }
    }
    # A program that was never built is a failure; one that says it cannot run here is not.
    /<skipped message=/ && left_out_program != "" {
      missing = attribute($0, "message") ~ /Unable to find/
      if (missing) ++failed; else ++skipped
      print (missing ? "FAILED (not there): " : "skipped: ") left_out_program > "/dev/stderr"
      left_out_program = ""
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$junit")
  read -r add_passed add_failed add_skipped <<<"$counts"
  passed=$((passed + add_passed)) failed=$((failed + add_failed)) skipped=$((skipped + add_skipped))
}

# run_ctest PRESET WITH WITHOUT [ARGUMENT...]: tests that have a label matching WITH (empty: all) and none matching WITHOUT.
run_ctest() {
  local folder=$root/build/$1 select=() junit cases status=0
  [[ -z $2 ]] || select+=(-L "$2")
  [[ -z $3 ]] || select+=(-LE "$3")
  junit=$folder/results.xml cases=$folder/results
  rm -rf -- "$junit" "$cases"
  mkdir -p -- "$cases"
  GTEST_OUTPUT=xml:$cases/ fixed_addresses ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure --output-junit "$junit" \
    "${select[@]}" "${@:4}" || status=$?
  local failed_before=$failed
  [[ ! -s $junit ]] || count_results "$junit" "$cases"
  # Whatever went wrong without leaving a trace still counts.
  ((status == 0 || failed > failed_before)) || failed=$((failed + 1))
  return "$status"
}

# The tests of a preset by their labels; a test's name is that of the program to build for it.
names_of() {
  ctest --test-dir "$root/build/$1" -N -L "$2" | awk '/^ *Test +#/ { print $3 }'
}

# test_preset PRESET WITH WITHOUT: configure, build what is needed, run, count. A build that fails counts as one failure.
test_preset() {
  local preset=$1 targets=()
  if ! step "$preset: configure" configure "$preset" -DTORIC_TESTS=ON; then
    failed=$((failed + 1))
    return 0
  fi
  if [[ -n $2 ]]; then
    mapfile -t targets < <(names_of "$preset" "$2")
    if ((${#targets[@]} == 0)); then
      echo "$preset: no test is labelled $2"
      return 0
    fi
  fi
  if ! step "$preset: build" build "$preset" "${targets[@]}"; then
    failed=$((failed + 1))
    return 0
  fi
  step "$preset: tests" run_ctest "$preset" "$2" "$3" || true
}

# The line that people and machines look for, last and alone.
finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0 && passed > 0)) || exit 1
  exit 0
}
