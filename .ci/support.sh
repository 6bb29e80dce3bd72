# shellcheck shell=bash
# What .ci/run and .ci/nightly share: counting, time budgets, and the programs that tests need beside Node.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null
export CI=true DEBIAN_FRONTEND=noninteractive

# A use case that asks for a second connection would wait for itself.
one_connection='MySQL, one connection, no shared statements, requests and responses against the OpenAPI document'
one_connection_settings=(TEST_POOL_SIZE=1 TEST_BATCH=false VALIDATE_OPENAPI=true)
oldest_node=$(sed -n 's/.*"node": "^\([0-9]*\.[0-9]*\)\..*/\1/p' package.json)
passed=0
failed=0
skipped=0
tested_on=()
times=()
logs=$(mktemp -d)
# What still runs beside it ends with it.
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT
# Kept between runs.
cache=${CASHBACK_CI_CACHE:-/var/cache/cashback-order-service}

say() {
  printf '\n=== [%4ds] %s\n' "$SECONDS" "$*"
}

# Reports what cannot be tested, in capitals so that it is noticed.
missing() {
  say "NOT TESTED: ${1^^}, BECAUSE ${2^^}"
  tested_on+=("NO ${1^^}")
  return 1
}

# Runs a part, and reports its time against its budget.
# $1: budget in seconds; $2: title; the rest: a command
part() {
  local budget=$1 title=$2 started=$SECONDS took
  shift 2
  say "$title (budget ${budget} s)"
  "$@"
  took=$((SECONDS - started))
  times+=("$(printf '%5d s of %5d  %s%s' "$took" "$budget" "$title" "$( ((took > budget)) && echo '  OVER BUDGET')")")
}

# Runs a command whose output ends with "N passed, N failed" or "N passed, N failed, N skipped", and adds the numbers to the
# totals. A command that prints no such line, or fails without a failed test, counts as one failure.
count() {
  local log="$logs/output" status line these_passed these_failed these_skipped
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
  read -r these_passed _ these_failed _ these_skipped _ <<<"$line"
  if [[ -z $line ]] || ((status != 0 && these_failed == 0)); then
    these_failed=$((these_failed + 1))
  fi
  passed=$((passed + these_passed)) failed=$((failed + these_failed)) skipped=$((skipped + these_skipped))
  tested_on+=("$(node --version) with $(sed -n 's/^Database: //p' "$log" | tail -n 1 | grep . || echo 'no database')")
}

# Begins a command beside the next ones. `ended` shows its output.
# $1: a name; the rest: the command
begin() {
  local log="$logs/beside-$1"
  shift
  ("$@" >"$log" 2>&1; echo $? >"$log.status.partial"; mv "$log.status.partial" "$log.status") &
}

# Waits until a command that was begun has ended, prints its output, and returns its status. It may run in a subshell.
# $1: the name
ended() {
  local log="$logs/beside-$1"
  while [[ ! -e $log.status ]]; do sleep 1; done
  say "What ran beside it: $1"
  cat "$log"
  return "$(<"$log.status")"
}

# Runs a part that is not a test. If it fails, that counts as one failure.
check() {
  local complaint=$1
  shift
  "$@" && return
  say "$complaint"
  failed=$((failed + 1))
}

# Prints the times and the totals. The last line is "N passed, N failed", with ", N skipped" if there are any.
finish() {
  say "Done. Tested: $(printf '%s; ' "${tested_on[@]}" | sed 's/; $//')"
  printf '%s\n' "${times[@]}"
  ((skipped == 0)) || say "$skipped TESTS WERE SKIPPED (see SKIPPED above)"
  echo "$passed passed, $failed failed$( ((skipped == 0)) || echo ", $skipped skipped")"
  ((failed == 0))
}

# Puts a version of Node on the PATH, from the npm package `node`.
use_node() {
  local folder
  [[ $(node --version) == "v$1."* ]] && return
  folder=$(npm exec --yes --package="node@$1" -- node -p 'path.dirname(process.execPath)')
  export PATH="${folder:-/nonexistent}:$PATH"
  [[ $(node --version) == "v$1."* ]] && return
  failed=$((failed + 1))
  missing "node $1" 'it cannot be installed'
}

# Runs the README's command for all unit and end-to-end tests on a version of Node.
readme_on_node() {
  use_node "$1" && count bash -c 'npm ci && npm run test:all'
}

# Runs a command as if it were another time, with its database, browser and other programs. The monotonic clock of pauses
# and time limits stays real. At that time, certificates may have expired: the command may not download anything.
# $1: the time, as `date` reads it; the rest: a command
at_time() {
  local seconds=$(($(date -d "$1" +%s) - $(date +%s)))
  shift
  mkdir -p "$logs/at-time"
  # Python sleeps until an instant of the monotonic clock, which libfaketime moves in any case.
  wrap python3 FAKETIME_DONT_FAKE_MONOTONIC=0
  # Redis does not start with libfaketime. It is not asked for the time.
  wrap redis-server -u LD_PRELOAD
  # Without FAKETIME_FORCE_MONOTONIC_FIX=0, Chromium waits forever.
  PATH="$logs/at-time:$PATH" FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_FORCE_MONOTONIC_FIX=0 \
    faketime -f "$(printf '%+ds' "$seconds")" "$@"
}

# Writes a program that runs one of the same name with another environment.
# $1: the program; the rest: options of `env`
wrap() {
  local program
  program=$(command -v "$1") || return
  printf '#!/bin/sh\nexec env %s %s "$@"\n' "${*:2}" "$program" >"$logs/at-time/$1"
  chmod +x "$logs/at-time/$1"
}

# Prints the first of the coming days that `date` prints as given.
# $1: a format, such as %m-%d; $2: what it prints
coming() {
  local days
  for days in {1..366}; do
    [[ $(date -d "12:00 $days days" +"$1") == "$2" ]] && date -d "12:00 $days days" +%F && return
  done
}

# Runs a test command on the MySQL server of `provide_mysql`, if it could be provided.
# $@: variables such as NAME=value, and the command
on_mysql() {
  [[ -n ${mysqld:-} ]] || return
  count env -u DATABASE_URL LOCAL_MYSQLD="$mysqld" "$@"
}

# Installs Debian packages unless the program is there. No service is started.
install() {
  local program=$1
  shift
  command -v "$program" >/dev/null && return
  [[ $(id -u) == 0 ]] || return
  apt-get -q update || true
  apt-get -q install -y --no-install-recommends "$@"
}

# Installs HAProxy, for the tests of the edge and of database groups.
provide_haproxy() {
  install haproxy haproxy || missing 'the edge' 'haproxy cannot be installed'
}

# Installs libfaketime, for runs on other days.
provide_faketime() {
  install faketime faketime || missing 'other days' 'faketime cannot be installed'
}

# Installs Chromium, for the tests of the back office and of the client in a browser.
provide_chromium() {
  install chromium chromium || missing 'the back office' 'chromium cannot be installed'
}

# Puts `redis-server` on the PATH. The package redis-server would start a service. redis-tools has the same program under
# another name: its name decides what it does.
provide_redis() {
  command -v redis-server >/dev/null && return
  install redis-check-rdb redis-tools || { missing redis 'redis-tools cannot be installed'; return; }
  mkdir -p "$logs/bin"
  ln -s "$(command -v redis-check-rdb)" "$logs/bin/redis-server"
  export PATH="$logs/bin:$PATH"
}

# Removes a Debian folder. An interrupted debootstrap may have left file systems mounted, which rm must not enter.
remove_tree() {
  umount "$1/proc" "$1/sys" 2>/dev/null
  rm -rf --one-file-system "$1"
}

# Installs Debian unstable with a MySQL server into the cache, and writes a program that runs the server from outside it:
# with the loader and the libraries of that folder it needs neither chroot nor root. Sets `mysqld`.
provide_mysql() {
  local root="$cache/debian" partial="$cache/debian.partial" loader libraries
  if [[ ! -d $root ]]; then
    [[ $(id -u) == 0 ]] || { missing mysql 'debootstrap needs root'; return; }
    install debootstrap debootstrap debian-archive-keyring || { missing mysql 'debootstrap cannot be installed'; return; }
    mkdir -p "$cache"
    remove_tree "$partial"
    if ! timeout --kill-after=10 600 debootstrap --variant=minbase \
      --include=mysql-server-core sid "$partial" >"$logs/debootstrap" 2>&1; then
      tail -n 15 "$logs/debootstrap"
      remove_tree "$partial"
      missing mysql 'Debian unstable cannot be downloaded'
      return
    fi
    rm -rf "$partial"/var/cache/apt/archives/*.deb
    mv "$partial" "$root"
  fi
  loader=$(find "$root"/lib*/ -name 'ld-linux*.so.*' | head -n 1)
  libraries=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' | head -n 1)")
  cat >"$cache/mysqld" <<SCRIPT
#!/bin/sh
exec "$loader" --library-path "$libraries:$root/usr/lib/mysql/private" "$root/usr/sbin/mysqld" "\$@" --basedir="$root/usr"
SCRIPT
  chmod +x "$cache/mysqld"
  if "$cache/mysqld" --no-defaults --version; then
    mysqld="$cache/mysqld"
    return
  fi
  # The next run must not find a folder that does not work.
  remove_tree "$root"
  missing mysql 'the server of Debian unstable does not run here'
}
