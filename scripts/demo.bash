# Functions of scripts/demo, scripts/authserver-demo and scripts/authserver-sample. Sourced.
# shellcheck shell=bash disable=SC2120

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# begin BINARIES [PROGRAM…]: sets `binaries`, where credd, credctl and credd-sandbox are, and `folder`, a
# temporary one. It goes at the end with what was started, unless `is_kept` is set.
begin() {
  local program
  binaries=$(cd "$1" && pwd) || exit
  for program in "$binaries"/{credd,credctl,credd-sandbox} "${@:2}"; do
    [[ -x $program ]] || fail "$program is missing: run 'make demo' or 'make authserver-demo'"
  done
  folder=$(mktemp --directory --tmpdir credd-demo.XXXXXX)
  processes=()
  is_kept=''
  trap clean_up EXIT
  trap 'exit 130' INT TERM
}

clean_up() {
  [[ -z $is_kept ]] || return 0
  local process
  for process in "${processes[@]}"; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  rm -rf "$folder"
}

# Colours for a person at a terminal, plain text for everybody else.
bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
command_line() { printf '%s$ %s%s\n' "$dim" "$*" "$plain"; }
shorten_secrets() {
  sed -E 's/("(SecretAccessKey|SessionToken)": ?"[^"]{4})[^"]*/\1…/g; s/(cr[hi]1_[0-9a-f]{4})[0-9a-f_]*/\1…/g'
}

# start NAME COMMAND…: in a session of its own, so that ^C at a kept demonstration's terminal does
# not reach it. Its output is shown only if it fails.
start() {
  local name=$1
  shift
  setsid "$@" >"$folder/$name.log" 2>&1 </dev/null &
  processes+=($!)
}

# wait_until NAME CONDITION…: for the program started last.
wait_until() {
  local name=$1 attempt
  shift
  for ((attempt = 0; attempt < 400; attempt++)); do
    if "$@" >/dev/null 2>&1; then return; fi
    kill -0 "${processes[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  cat "$folder/$name.log" >&2
  fail "$name did not start"
}

# start_sandbox [OPTION…]: sets `url`.
start_sandbox() {
  start sandbox "$binaries/credd-sandbox" --port 0 --ready-file "$folder/sandbox.ready" "$@"
  wait_until sandbox test -s "$folder/sandbox.ready"
  # shellcheck disable=SC2034  # the demonstrations read it
  url=$(head -n 1 "$folder/sandbox.ready")
}

# start_credd [VARIABLE=VALUE…]: with $folder/credd.conf; exports CREDD_SOCKET.
start_credd() {
  export CREDD_SOCKET=$folder/credd.sock
  mkdir "$folder/state"
  start credd env STATE_DIRECTORY="$folder/state" "$@" \
    "$binaries/credd" --config "$folder/credd.conf" --socket "$CREDD_SOCKET"
  wait_until credd test -S "$CREDD_SOCKET"
}

# start_authserver PROGRAM CONDITION…: with $folder/authserver.conf. Its AWS credentials, which Cognito's
# developer operations want, nobody else has.
start_authserver() {
  cp "${BASH_SOURCE[0]%/*}/../contrib/authserver/common-passwords" "$folder"
  start authserver env AWS_ACCESS_KEY_ID=AKIASANDBOXDEVELOPER \
    AWS_SECRET_ACCESS_KEY=sandbox-developer-secret \
    "$1" serve --config "$folder/authserver.conf"
  wait_until authserver "${@:2}"
}
