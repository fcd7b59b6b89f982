# Functions of scripts/check, scripts/test, scripts/test-all and scripts/reproducible: each check prints
# one line with its seconds; one that fails also prints what it said. Sourced, with `output` set to a
# folder for logs.
# shellcheck shell=bash
: "${output:?}"

# Where the debug build of the tests lies, and its tests.
DEBUG=build/debug/debug

# begin_checks: an empty folder for logs, and nothing counted. Other users and machines of the tests
# read what is built, whatever mask the shell has.
begin_checks() {
  umask 022
  rm -rf "$output"
  mkdir -p "$output"
  : >"$output/counts"
  TEST_PROGRAM=$DEBUG/creddPackageTests.xctest
}

# clone_tree FROM TO: the files that git knows, as they are in the work tree.
clone_tree() {
  git -c advice.detachedHead=false clone --quiet --no-hardlinks "$1" "$2" &&
    (cd "$1" && git ls-files -z --cached --modified --others --exclude-standard --deduplicate |
      while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
      tar --create --null --no-recursion --files-from=-) | tar --extract --directory="$2"
}

# once NAME COMMAND…: runs it once in a run of checks; later it ends as it did then.
once() {
  local result=$output/$1 status=0
  shift
  if [[ ! -e $result ]]; then
    "$@" || status=$?
    echo "$status" >"$result"
  fi
  return "$(<"$result")"
}

# build_debug: the debug build with all tests.
build_debug() { once is-built check 'debug build with tests' scripts/build tests --scratch-path build/debug; }

# say TEXT: whole, though checks run side by side.
say() { flock "$output/lock" printf '%s\n' "$1"; }

# line NAME ok|FAILED BEGIN [MORE]
line() { printf '%-42s %-6s %4d s%s' "$1" "$2" $((SECONDS - $3)) "${4:+  $4}"; }

# count PASSED FAILED SKIPPED
count() { echo "$@" >>"$output/counts"; }

# check NAME COMMAND…
check() {
  local name=$1 began=$SECONDS log=$output/${1//[^A-Za-z0-9]/-}.log
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    count 1 0 0
    say "$(line "$name" ok "$began")"
  else
    count 0 1 0
    say "$(line "$name" FAILED "$began")
$(sed 's/^/    /' "$log")"
    return 1
  fi
}

# results passed|failed|skipped LOG: how many tests ended like that.
results() {
  local ending="$1 after [0-9.]+ seconds"
  [[ $1 != skipped ]] || ending='skipped(: |\.?$)'
  grep -vE ' Test (run with|case passing) ' "$2" | grep -cE "^[^ ]+ +Test .* $ending"
}

# The names of the tests in a log that failed, as `--filter` knows them.
failures() {
  grep -vE ' Test (run with|case passing) ' "$@" |
    sed -nE 's/^[^ ]+ +Test (.*) failed after [0-9.]+ seconds.*/\1/p' |
    sed -E 's/ with [0-9]+ test cases?$//; s/^"(.*)"$/\1/; s/\([^()]*\)$//'
}

# test_program LOG [OPTION…]: the tests in $TEST_PROGRAM, or those of `scripts/build --build-tests`.
test_program() {
  local log=$1
  shift
  timeout --kill-after=10 "${TEST_TIMEOUT:-1800}" \
    "${TEST_PROGRAM:-.build/debug/creddPackageTests.xctest}" --testing-library swift-testing "$@" \
    >"$log" 2>&1 </dev/null
}

# In CI, a skipped test counts as failed: root, namespaces and packages must be there. Only two reasons
# are accepted: the machine's kernel, and an installed podman that is too old for the test.
may_be_skipped='skipped: "this (kernel|podman) '

# say_skipped LOG: the tests that did not run, and why.
say_skipped() {
  local lines=()
  mapfile -t lines < <(grep -E '^[^ ]+ +Test .* skipped(: |\.?$)' "$1" |
    sed -E 's/^[^ ]+ +Test /    /')
  ((${#lines[@]} == 0)) || say "$(printf '%s\n' "${lines[@]}")"
}

# tests NAME [OPTION…]: one line for all of them, and what those that failed said.
tests() {
  local name=$1 began=$SECONDS log=$output/${1//[^A-Za-z0-9]/-}.log status=0 good bad skipped
  shift
  test_program "$log" "$@" || status=$?
  good=$(results passed "$log") bad=$(results failed "$log") skipped=$(results skipped "$log")
  local left_out=()
  if [[ ${CI:-} == true ]]; then
    mapfile -t left_out < <(grep -E '^[^ ]+ +Test .* skipped' "$log" | grep -vE "$may_be_skipped")
    bad=$((bad + ${#left_out[@]})) skipped=$((skipped - ${#left_out[@]}))
  fi
  # A crash, the time limit and a run without tests leave none that failed, and are failures.
  # A suite may be skipped whole, for want of root.
  if ((bad == 0 && (status != 0 || good + skipped == 0))); then
    bad=1
    say "$(tail -n 40 "$log" | sed 's/^/    /')"
  fi
  count "$good" "$bad" "$skipped"
  local outcome=ok
  ((bad == 0)) || outcome=FAILED
  say "$(line "$name" "$outcome" "$began" "$good passed, $bad failed, $skipped skipped")"
  say_skipped "$log"
  ((bad == 0)) || say "$(grep -E -A 12 '^[^ ]+ +Test .* (recorded an issue|failed after) ' "$log" |
    grep -vE '^[^ ]+ +(Test|Suite) .* (passed after|started)|^--$' | sed 's/^/    /' | head -n 400)"
  return $((bad > 0))
}

# Tests that failed beside a thousand others, once more and alone, three at most. They have failed
# either way; but one that passes now wants a race or a deadline looked for, and not a mistake.
once_more() {
  local names=() filter
  mapfile -t names < <(failures --no-filename "$output"/*tests*.log 2>/dev/null)
  ((${#names[@]} > 0 && ${#names[@]} <= 3)) || return 0
  printf 'once more, alone: %s\n' "${names[@]}"
  filter=$(printf '%s\n' "${names[@]}" | sed 's/[^A-Za-z0-9_]/./g' | paste -sd '|')
  if test_program "$output/again.log" --filter "$filter" &&
    (($(results passed "$output/again.log") >= ${#names[@]})); then
    printf 'UNSTEADY, passed alone: %s\n' "${names[@]}"
  fi
}

# The closing line; ends with 1 where anything failed.
total() {
  local passed=0 failed=0 skipped=0 good bad without
  while read -r good bad without; do
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + without))
  done <"$output/counts"
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}
